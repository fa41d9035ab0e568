export { type DockerfileStage, lastStage } from "./dockerfile";
export {
  javaCommand,
  javaImage,
  type JavaImageSource,
  NODE_VERSION,
  nodeRelease,
  pythonImage,
  type PythonImageSource,
} from "./downloads";
export { buildImage, folderEntries, type Entry, type Image, type ImageSource } from "./image";
export {
  bundle,
  goImage,
  libraryEntries,
  nodeImage,
  type NodeImageSource,
  pauseImage,
  schedulerImage,
} from "./programs";

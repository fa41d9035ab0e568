export { type DockerfileStage, lastStage } from "./dockerfile";
export { goImage } from "./go";
export { buildImage, folderEntries, type Entry, type Image, type ImageSource } from "./image";
export { javaImage, type JavaImageSource } from "./java";
export { bundle, libraryEntries, nodeImage, type NodeImageSource } from "./node";
export { nodeRelease, NODE_VERSION } from "./node-release";
export { pauseImage } from "./pause";
export { pythonImage, type PythonImageSource } from "./python";
export { schedulerImage } from "./scheduler";

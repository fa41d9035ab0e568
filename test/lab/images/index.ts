export { buildImage, folderEntries, type Entry, type Image, type ImageSource } from "./image";
export { bundle, nodeImage, type NodeImageSource } from "./node";
export { pauseImage } from "./pause";
export { pythonImage, type PythonImageSource } from "./python";
export { schedulerImage } from "./scheduler";

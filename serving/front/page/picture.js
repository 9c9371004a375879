// Pictures: of which type their bytes are, and the frames of a clip.

const GIF = "image/gif";
const BEGINNINGS = { [GIF]: /^GIF8[79]a/, "image/png": /^\x89PNG/, "image/jpeg": /^\xff\xd8\xff/, "image/bmp": /^BM/ };
const OTHERS = { WebP: /^RIFF....WEBP/s, AVIF: /^....ftypavi[fs]/s, HEIC: /^....ftyp(?:hei|mif)/s, TIFF: /^(?:II\*\0|MM\0\*)/, GIF: /^GIF8/ };
const ENOUGH = 12; // bytes that tell the type

const firstOf = (bytes) => String.fromCharCode(...bytes.subarray(0, ENOUGH));

/** The type of a picture by its first bytes; "" where they are of none that a model reads. */
export function typeOf(bytes) {
  const first = firstOf(bytes);
  return Object.keys(BEGINNINGS).find((type) => BEGINNINGS[type].test(first)) ?? "";
}

/** A file with the type that its bytes tell; throws where that is none of `types`, which `expected` names. A browser shows
 *  more kinds of pictures than a model reads. */
export async function typed(file, types, expected) {
  const bytes = new Uint8Array(await file.slice(0, ENOUGH).arrayBuffer());
  const type = typeOf(bytes);
  if (!types.includes(type)) {
    const [other] = Object.entries(OTHERS).find(([, begins]) => begins.test(firstOf(bytes))) ?? [];
    const what = other ? `a ${other} file` : `${file.size} bytes of another format`;
    throw new Error(`Expected ${expected}. Received: ${what}`);
  }
  return file.type === type ? file : new File([file], file.name, { type });
}

/** The frames of a clip, each on a canvas. Throws where there are not so many, or the browser cannot read them. */
export async function framesOf(file, count) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return typeOf(bytes) === GIF ? decoded(bytes, count) : cut(file, count);
}

async function decoded(data, count) {
  const decoder = new ImageDecoder({ data, type: GIF });
  try {
    await decoder.tracks.ready;
    const { frameCount } = decoder.tracks.selectedTrack;
    if (frameCount !== count) throw new Error(`It has ${frameCount} frames.`);
    const frames = [];
    for (let frameIndex = 0; frameIndex < count; frameIndex++) {
      const { image } = await decoder.decode({ frameIndex });
      frames.push(painted(image, image.displayWidth, image.displayHeight));
      image.close();
    }
    return frames;
  } finally {
    decoder.close();
  }
}

/** The parts of a strip, side by side. */
async function cut(file, count) {
  const strip = await createImageBitmap(file);
  const width = Math.floor(strip.width / count);
  return Array.from({ length: count }, (_, place) => painted(strip, width, strip.height, place * width));
}

/** A part of an image on a canvas, from `left` on. */
function painted(image, width, height, left = 0) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  canvas.getContext("2d").drawImage(image, -left, 0);
  return canvas;
}

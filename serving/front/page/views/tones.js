// The colour of a tag, the same in every answer and in the pictures: a dozen hues, twice, of two lightnesses.

const TONES = [
  "VERB VP VB VBD VBG VBN VBP VBZ PER PERSON", "INTJ UH", "MISC", "UCP TO", "ADJ ADJP JJ JJR JJS LOC GPE", "EX WRB",
  "NUM CD LST", "POS", "NOUN NP NN NNS ORG", "WP WDT", "ADP IN PP", "SCONJ SBAR",
  "FW", "AUX MD", "DET DT", "PART PRT RP", "SYM", "ADV ADVP RB RBR RBS",
  "PDT", "PROPN NNP NNPS", "X", "PRON PRP PRP$", "LS", "CCONJ CC CONJP",
];

/** Gives `node` the colour of a tag; those of punctuation and of what has no tag have none. */
export function tone(node, tag) {
  if (["O", "_", "PUNCT"].includes(tag) || !/\p{L}/u.test(tag)) return;
  const known = TONES.findIndex((tags) => tags.split(" ").includes(tag));
  const other = [...tag].reduce((number, character) => (31 * number + character.codePointAt(0)) % 65521, 0);
  const place = known < 0 ? other % TONES.length : known;
  node.classList.add("toned");
  node.style.setProperty("--hue", 20 + 30 * (place % 12));
  node.style.setProperty("--lighter", Math.floor(place / 12));
}

/** What a model is for, in one line for people, with examples of its language; and whether it reads a text's script. */

const SAMPLES = {
  en: [
    "It seems like he has made a mistake.",
    "Oil prices dropped sharply after the announcement.",
    "He didn't come to the party because he was ill.",
  ],
  de: ["Es scheint, dass er einen Fehler gemacht hat.", "Ich habe gestern von dir geträumt.", "Wo ist der Bahnhof?"],
  zh: ["他好像犯了一个错误。", "我昨天梦见了你。", "火车站在哪里？"],
};
const SCRIPTS = { zh: /\p{Script=Han}/u, ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u };
for (const code of ["en", "de", "fr", "es", "it", "nl", "pt"]) SCRIPTS[code] = /\p{Script=Latin}/u;

const names = new Intl.DisplayNames(["en"], { type: "language" });

/** In one line what a model does. */
export function purposeOf(model) {
  const { task, source_language: source, target_language: target } = model;
  if (source && target && source !== target) return `${names.of(source)} to ${names.of(target)}`;
  if (source) return `Paraphrases ${names.of(source)}`;
  return task === "paraphrase" ? "Says a sentence in other words" : "Writes a sentence anew";
}

/** In two sentences what somebody who sees the page for the first time can do with it. */
export function invitation(model) {
  const { source_language: source, target_language: target } = model;
  const translates = source && target && source !== target;
  const back = translates ? `in ${names.of(target)}` : "in other words";
  return `${prompt(model)}. It comes back ${back}, several ways at once, and you see how each of them came about.`;
}

/** What to type. */
export const prompt = ({ source_language: source }) => `Type a sentence${source ? ` in ${names.of(source)}` : ""}`;

/** Sentences to try a model with. */
export const samplesOf = (model) => SAMPLES[model.source_language] ?? SAMPLES.en;

/** What to say where a text is in a script that the model has not learnt; null where it is not. */
export function misfit(model, text) {
  const { source_language: source } = model;
  const script = SCRIPTS[source];
  const letters = text.match(/\p{L}/gu) ?? [];
  const read = letters.filter((letter) => script?.test(letter));
  if (!script || 2 * read.length >= letters.length) return null;
  return `This model reads ${names.of(source)}; it has not learnt the script of this text.`;
}

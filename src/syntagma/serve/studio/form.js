/** The form: the sentence and how to grow it, as the request carries it. */

import { sentencesOf } from "./api.js";
import { known } from "./context.js";
import { byId, h, refill } from "./dom.js";
import { invitation, misfit, prompt, purposeOf, samplesOf } from "./purpose.js";
import { TemplatePanel } from "./template.js";

/** Words between commas, or lines. */
export const list = (text) =>
  text
    .split(/[,\n،、]/u)
    .map((word) => word.trim())
    .filter(Boolean);

export class Form {
  /** @param {{grow: () => void, stop: () => void, fail: (error: Error) => void}} calls */
  constructor(calls) {
    this.calls = calls;
    this.models = [];
    this.panel = new TemplatePanel(() => byId("model").value, calls.fail);
    byId("source-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (byId("text").value.trim()) calls.grow();
      else calls.fail(new Error("There is no text yet: type a sentence."));
    });
    byId("text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        byId("source-form").requestSubmit();
      }
    });
    byId("stop").addEventListener("click", () => calls.stop());
    byId("model").addEventListener("change", () => this.useDefaults());
    byId("steer-toggle").addEventListener("click", () => this.showSteering(byId("steer").hidden));
    byId("steer").addEventListener("input", () => this.noteSteering());
    byId("text").addEventListener("input", () => this.checkText());
  }

  samples() {
    const buttons = samplesOf(this.model).map((text) =>
      h(
        "button",
        {
          type: "button",
          class: "sample",
          onclick: () => {
            byId("text").value = text;
            this.checkText();
            this.calls.grow();
          },
        },
        text,
      ),
    );
    refill(
      byId("examples"),
      buttons.flatMap((button) => [button, " "]),
    );
  }

  /** The models that the service has. */
  setModels(models) {
    this.models = models;
    const options = models.map((model) =>
      h(
        "option",
        { value: model.name, disabled: !model.guided },
        model.guided ? model.name : `${model.name} (grows no tree)`,
      ),
    );
    refill(byId("model"), options);
    const first = models.find((model) => model.guided);
    if (first) byId("model").value = first.name;
    this.useDefaults();
  }

  get model() {
    return this.models.find((model) => model.name === byId("model").value);
  }

  /** The beam that a search of the model's has where none is asked for. */
  get usualBeam() {
    return this.model?.defaults?.beam ?? 5;
  }

  useDefaults() {
    const { model } = this;
    if (!model) return;
    known.labels = model.labels;
    byId("beam-width").max = model.limits?.beam ?? 16;
    byId("beam-width").value = this.usualBeam;
    byId("alpha").value = model.defaults?.alpha ?? 0.8;
    byId("purpose").textContent = purposeOf(model);
    byId("invitation").textContent = invitation(model);
    byId("text").placeholder = prompt(model);
    this.samples();
    this.checkText();
    this.panel.reset(model);
  }

  /** The characters that a sentence may have. */
  get most() {
    return this.model?.limits?.text ?? 400;
  }

  /** Say at once how much room there is, and whether the model reads this script. */
  checkText() {
    const text = byId("text").value.trim();
    const size = [...text].length;
    const over = size > this.most;
    byId("count").classList.toggle("over", over);
    byId("count").hidden = size < 0.75 * this.most;
    byId("count").textContent = `${size} characters; a sentence may have ${this.most}`;
    const strange = this.model && misfit(this.model, text);
    byId("script").hidden = !strange;
    byId("script").textContent = strange ?? "";
  }

  showSteering(on) {
    byId("steer").hidden = !on;
    byId("steer-toggle").setAttribute("aria-expanded", String(on));
    if (on) this.panel.draw();
  }

  noteSteering() {
    const count = ["template", "must", "must-not", "start"].filter((id) => byId(id).value.trim()).length;
    byId("steer-note").textContent = count ? ` · ${count}` : "";
  }

  /** What the request carries; empty fields are left out. */
  read() {
    const settings = { text: byId("text").value.trim(), model: byId("model").value };
    const beam = Number(byId("beam-width").value);
    if (beam && beam !== this.usualBeam) settings.beam = beam; // else the service decides, by how many texts are wanted
    if (byId("alpha").value) settings.alpha = Number(byId("alpha").value);
    Object.assign(settings, this.panel.read());
    const start = byId("start").value.trim();
    const must = list(byId("must").value);
    const mustNot = list(byId("must-not").value);
    if (start) settings.start = start;
    if (must.length) settings.must = must;
    if (mustNot.length) settings.must_not = mustNot;
    return settings;
  }

  /** What of a text grows at a time: its sentences, where the model has learnt single ones. */
  async sentencesOf(text) {
    const several = this.model?.defaults?.split && /[.!?。！？].*\p{L}/su.test(text);
    const fits = (sentence) => [...sentence].length <= this.most;
    if (!several && fits(text)) return [text];
    const { sentences } = await sentencesOf(text);
    const long = sentences.find((sentence) => !fits(sentence));
    if (long === undefined) return sentences;
    const what = sentences.length > 1 ? `The sentence “${[...long].slice(0, 40).join("")}…”` : "The sentence";
    throw new Error(`${what} has ${[...long].length} characters and may have ${this.most}: shorten it or cut it in two.`);
  }

  /** The sentences of a text side by side, the one that grows marked; `choose` is told which to grow instead. */
  showSentences(sentences, current, choose) {
    byId("sentences").hidden = sentences.length < 2;
    const buttons = sentences.map((sentence, place) =>
      h(
        "button",
        {
          type: "button",
          class: "sample",
          dir: "auto",
          "aria-pressed": String(place === current),
          onclick: () => choose(place),
        },
        sentence,
      ),
    );
    refill(
      byId("sentences"),
      "One sentence grows at a time: ",
      buttons.flatMap((button) => [button, " "]),
    );
  }

  /** Put settings back into the fields, as a link or the history has them. */
  write(settings) {
    byId("text").value = settings.text ?? "";
    if (this.models.some((model) => model.name === settings.model)) byId("model").value = settings.model;
    this.useDefaults();
    this.checkText();
    if (settings.beam !== undefined) byId("beam-width").value = settings.beam;
    if (settings.alpha !== undefined) byId("alpha").value = settings.alpha;
    byId("start").value = settings.start ?? "";
    byId("must").value = (settings.must ?? []).join(", ");
    byId("must-not").value = (settings.must_not ?? []).join(", ");
    this.panel.write(settings);
    this.showSentences([], 0);
    this.noteSteering();
    const steered = ["template", "start", "must", "must_not"].some((key) => settings[key] !== undefined);
    this.showSteering(steered);
  }

  /** Show whether something grows. */
  growing(on) {
    const focused = document.activeElement;
    // The button that has the focus goes away; the focus goes to the one that comes, and is not lost.
    const follow = [byId("grow"), byId("stop")].includes(focused) || byId("welcome").contains(focused);
    byId("stop").hidden = !on;
    byId("grow").hidden = on;
    if (follow) byId(on ? "stop" : "grow").focus({ preventScroll: true });
  }
}

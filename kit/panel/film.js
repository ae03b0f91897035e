/* Rebuilds the scenes of a film, whose parts kit/panel/film.py put into pools.

   A film has one take or two (a take is one timeline's steps), and moments: the slider's
   positions, each a step of either take. */

function projector(film) {
  const { pools, takes, moments } = film;
  const rows = pools.rows.map((row) => ({
    ...row, cells: row.cells.map((place) => pools.cells[place]), ...pools.controls[row.controls],
  }));
  const scenes = takes.map((take) => take.steps.map((step) => ({
    ...pools.heads[step.head], rows: step.rows.map((place) => rows[place]), strip: pools.strips[step.strip],
    parts_at: step.parts_at, step, topic: film.topic, partition: film.partition,
  })));
  const starts = takes.flatMap((take) => take.steps.map((step) => step.offsets[0]));
  const ends = rows.map((row) => row.log_end_offset);
  const first = Math.min(...starts), end = Math.max(first + 5, ...ends.map((offset) => offset + 1));
  const even = end - first <= 10; // then nothing moves sideways while the film plays
  const split = (moment) => moment[1] >= 0;
  const lines = takes.map((take, number) => { // every line of a timeline, its shared past first
    const past = number ? takes[0].steps.filter((step) => step.t <= take.steps[0].t).map((step) => [step, -1]) : [];
    return [...past, ...take.steps.map((step, place) => [step, place])]
      .flatMap(([step, place]) => step.lines.map((line) => ({ step, place, line })))
      .map((each, at) => ({ ...each, key: `${number} ${at}` }));
  });
  return {
    lines: (take) => lines[take],
    film, last: moments.length - 1, takes,
    pair: (at) => split(moments[at]),
    active: (at) => (split(moments[at]) ? 1 : 0),
    scene: (at, take) => (take && split(moments[at]) ? scenes[1][moments[at][1]] : scenes[0][moments[at][0]]),
    place: (at, take) => (take && split(moments[at]) ? moments[at][1] : moments[at][0]),
    time: (at) => Math.max(...moments[at].map((place, take) => (place < 0 ? 0 : takes[take].steps[place].t))),
    differs: (at) => (film.compared[at] >= 0 ? pools.diffs[film.compared[at]] : null),
    /* The steps that are new at a moment: [take, step], the active take's last. */
    fresh: (at) => moments[at].map((place, take) => [take, place])
      .filter(([take, place]) => place >= 0 && (at === 0 || moments[at - 1][take] !== place))
      .map(([take, place]) => [take, takes[take].steps[place]]),
    offsets: (at) => {
      if (even) return [first, end];
      const both = [scenes[0][moments[at][0]], split(moments[at]) && scenes[1][moments[at][1]]].filter(Boolean);
      return [Math.min(...both.map((scene) => scene.step.offsets[0])), Math.max(...both.map((scene) => scene.step.offsets[1] - 1))];
    },
    /* Messages that are on their way between two times. */
    flights: (take, from, to) => takes[take].flights.filter(([sent, arrives]) => sent <= to && arrives >= from),
  };
}

/* What is new at a moment: [timeline, sentence], the timeline only where it matters. */
function captions(p, at) {
  const fresh = p.fresh(at).map(([take, step]) => [String(take + 1), step.caption]);
  const same = fresh.length > 1 && fresh[0][1] === fresh[1][1];
  return !p.pair(at) || same ? [["", fresh[0][1]]] : fresh;
}
const narration = (p, at) => captions(p, at).map(([name, sentence]) =>
  (name && !sentence.startsWith("Timeline") ? `Timeline ${name}: ${sentence}` : sentence)).join(" ");

package handoff

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/audit"
	"github.com/tablewake/tablewake/sinks/view"
)

// shape is the kind of damage in a world.
type shape string

const (
	healthy shape = "healthy" // no damage: an audit finds no difference
	changed shape = "changed" // contents are changed by hand. Changes may come late at any time
	// damaged means that records are lost, and entries are removed, moved and changed by hand, also their versions.
	// Earlier changes do not come late.
	damaged shape = "damaged"
)

// RepairWorld is a world with filled sinks, which are audited and repaired while the stream continues.
type RepairWorld struct {
	World
	shape     shape
	audited   []audit.Sink
	valuesOf  map[string][]view.Value // of the aggregates, by the name of the sink
	free      [][]planWriter          // sinks that no process uses
	removals  *record.Decoder
	processes []*process
	running   *process
	writing   map[*shard]*process // the process that writes the last records that were read
	reports   []*report
	audits    int
	unsure    int   // repairs whose item changed meanwhile, or that were killed before they read it again
	damagedAt int64 // milliseconds; no change up to this time comes late
}

// RunRepair plays the world of a seed with repairs of its sinks. It returns an error in the same cases as Run.
func RunRepair(ctx context.Context, stores *Stores, seed uint64, rules Rules) (r Result, err error) {
	w := &RepairWorld{
		World: World{
			id: fmt.Sprintf("r%d", seed), rand: rand.New(rand.NewPCG(seed, 21)), rules: rules, stores: stores, ctx: ctx,
			tally: make(map[string]int), seen: make(map[int]bool), newestOf: make(map[item.Key]*record.Change), wrong: make(map[string]string),
		},
		removals: newRemovals(), writing: make(map[*shard]*process), valuesOf: make(map[string][]view.Value),
	}
	defer func() {
		for len(w.processes) > 0 {
			w.kill(w.processes[0])
		}
		r = Result{Wrong: w.wrong, Story: w.story, Tally: w.tally}
		if p := recover(); p != nil {
			e, ok := p.(worldError)
			if !ok {
				panic(p)
			}
			err = e.error
			lacksProtection := rules.Repair != RepairRules{} // then a sink may refuse what is written
			if lacksProtection {
				w.wrong["any"], err = e.Error(), nil
			}
		}
		if e := stores.wipe(ctx); err == nil {
			err = e
		}
	}()
	w.drawRepair()
	w.playRepair()
	w.repairAll()
	if w.oneIn(5) { // earlier repairs are held meanwhile
		for range 3 {
			w.damage()
		}
		w.repairAll()
	}
	w.playOn(w.rand.IntN(6))
	for w.drainRepair(); w.unsure > 0; w.drainRepair() { // after such a repair the operator audits again
		w.unsure = 0
		w.repairAll()
	}
	w.check()
	return r, nil
}

// repairedSinks is the number of sinks in a world with repairs.
const repairedSinks = 2

// drawRepair draws the table and the sinks, and fills them.
func (w *RepairWorld) drawRepair() {
	for range 2 + w.rand.IntN(maxItems-1) {
		var m *image
		if w.oneIn(2) {
			m = drawImage(w.rand)
		}
		w.table.before = append(w.table.before, m)
		w.tell("%s is %s when the sinks are filled", keyOf(len(w.table.before)-1), m)
	}
	w.table.now = slices.Clone(w.table.before)
	w.beginShards()
	w.noH, w.scan, w.layers = true, true, []layer{{}}
	shapes, of := []shape{healthy, changed, damaged, damaged, damaged}, ""
	switch r := w.rules.Repair; {
	case r.Unwaited, r.ReadOnce:
		shapes = []shape{healthy}
	case r.Late:
		shapes = []shape{damaged}
	case r.Zero:
		shapes = []shape{changed}
	case r.SameVersion:
		shapes, of = []shape{damaged}, "aggregate"
	case r.Guards:
		shapes, of = []shape{damaged}, "claims"
	}
	w.shape = shapes[w.rand.IntN(len(shapes))]
	w.count("world: " + string(w.shape))
	paused := *w.stores
	paused.rows, paused.documents = w.pausedRows(), w.pausedDocuments("")
	paused.kinds = slices.DeleteFunc(slices.Clone(paused.kinds), func(k kind) bool { return repairable[k.name] == "" || !strings.HasPrefix(k.name, of) })
	underlying := w.stores
	w.stores = &paused
	w.drawSinks(repairedSinks)
	w.stores = underlying
	w.free = make([][]planWriter, len(w.sinks))
	for i := range w.sinks {
		w.free[i] = []planWriter{w.sinks[i].live}
	}
	w.makeParts()
	for _, p := range w.parts {
		w.apply(w.readPart(p), true)
	}
	w.audited = w.openAudit()
}

// playRepair runs events of the table, the stream and the sinks, with damage. It ends with one to four damages.
func (w *RepairWorld) playRepair() {
	for left := 4 + w.rand.IntN(maxWrites/2); left > 0; {
		w.now += w.rand.Int64N(2 * second)
		left -= w.step(left)
		if w.oneIn(20) {
			w.damage()
		}
		if w.oneIn(30) {
			w.startAudit(nil)
		}
		if w.oneIn(10) {
			w.startRepair(nil)
		}
	}
	for range 1 + w.rand.IntN(4) {
		w.damage()
	}
}

// playOn runs events until a number of writes is made. Repairs are repeated.
func (w *RepairWorld) playOn(left int) {
	for left > 0 {
		w.now += w.rand.Int64N(2 * second)
		left -= w.step(left)
		if w.oneIn(6) {
			w.startRepair(nil)
		}
	}
}

// step runs one event. It returns the number of writes in it.
func (w *RepairWorld) step(left int) int {
	switch w.rand.IntN(14) {
	case 0, 1, 2:
		if left > 0 {
			w.write()
			return 1
		}
	case 3, 4, 5:
		w.deliver()
	case 6:
		w.crash()
	case 7:
		w.redeliver()
	case 8:
		w.acknowledge()
	case 9:
		if w.oneIn(4) {
			w.split()
		}
	default:
		w.resumeOne(1 + w.rand.IntN(4))
	}
	return 0
}

// resumeOne resumes a process for some calls.
func (w *RepairWorld) resumeOne(calls int) {
	ps := w.resumable()
	if len(ps) == 0 {
		return
	}
	p := ps[w.rand.IntN(len(ps))]
	if p.repairs && w.oneIn(30) {
		w.kill(p)
		return
	}
	for range calls {
		if !w.resume(p) || p.ready != nil && !p.ready() {
			return
		}
	}
}

// drainRepair runs all events that must still happen.
func (w *RepairWorld) drainRepair() {
	for _, p := range w.processes {
		p.held = false
	}
	for w.drainStep(true) {
		w.now += w.rand.Int64N(second)
	}
}

// drainStep runs one event that must still happen. If late is set, this includes late changes. It returns false if
// there is none.
func (w *RepairWorld) drainStep(late bool) bool {
	var todo []func()
	if len(w.deliverable()) > 0 {
		todo = append(todo, w.deliver)
	}
	if len(w.givenUp) > 0 || late && len(w.late) > 0 {
		todo = append(todo, w.redeliver)
	}
	if slices.ContainsFunc(w.shards, w.behind) {
		todo = append(todo, w.acknowledge)
	}
	if len(w.resumable()) > 0 {
		todo = append(todo, func() { w.resumeOne(1 + w.rand.IntN(10)) })
	}
	if len(todo) == 0 {
		if late && len(w.processes) > 0 {
			w.failf("%s waits forever", w.processes[0].name)
		}
		return false
	}
	todo[w.rand.IntN(len(todo))]()
	return true
}

// check compares the sinks with the table. It then audits the quiet world, and the audit must find no difference.
func (w *RepairWorld) check() {
	for i := range w.sinks {
		s := &w.sinks[i]
		if d := w.differences(w.ctx, s); d != "" {
			w.wrong[s.kind] = d
			w.tell("%s", d)
		}
	}
	if w.rules.Repair.Unwaited || len(w.wrong) > 0 {
		return
	}
	r := &report{number: w.audits + 1}
	w.audit(&process{}, r)
	for _, f := range r.findings {
		d := fmt.Sprintf("an audit says: %s %s %s: %s %s", f.Verdict, f.Kind, f.Place, f.FoundText, strings.Join(f.Differences, ", "))
		w.wrong[w.sinks[f.sink].kind] = d
		w.tell("%s", d)
	}
}

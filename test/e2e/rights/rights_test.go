package rights

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/sinks/state"
	statedynamo "github.com/tablewake/tablewake/sinks/state/dynamo"
	"github.com/tablewake/tablewake/test/iam"
)

// rare has the actions, of one statement or of all statements, that no run here needs. The text says when a program
// needs them.
var rare = map[string]string{
	"s3:AbortMultipartUpload":             "an object in parts, of more than 64 MB, whose upload fails",
	"Leases dynamodb:DeleteItem":          "a shard that is done, when its children are read",
	"Leases dynamodb:GetItem":             "an answer that got lost is read back",
	"SearchDocumentsScript es:ESHttpPut":  "the server has no script yet, or another one",
	"StateShared dynamodb:GetItem":        "the same",
	"AggregateSums dynamodb:BatchGetItem": "the same",
	"AggregateSums dynamodb:PutItem":      "a group whose last share another writer took meanwhile, or a sum beyond 38 digits",
	"DeadLettersLarge s3:DeleteObject":    "a large letter that can be delivered",
}

// unheld has the right that a consumer needs if a sink is down for longer than dead_letters.max_hold. This does not
// happen here, because no change of queue.yaml is dead-lettered for another reason that holds back later changes of the
// item.
var unheld = map[string]map[string]string{"queue.yaml": {"State dynamodb:UpdateItem": "a mark of the quarantine"}}

func TestPoliciesAreWhatIsCalled(t *testing.T) {
	w := newWorld(t)
	orders := func(total int, status string) {
		for _, key := range []string{"a", "b", "c"} {
			w.write(t, key, map[string]any{"Status": status, "Email": key + "@example.com", "Total": total, "Parts": []string{"x", status}})
		}
	}
	for _, file := range []string{"everything.yaml", "queue.yaml"} {
		cfg := w.config(t, file)
		consumer := policy.Statements(cfg, policy.Options{Runner: policy.Consumer})
		redriver := policy.Statements(cfg, policy.Options{Runner: policy.Consumer, Redrive: true})
		creator := policy.Statements(cfg, policy.Options{Runner: policy.Creator})
		orders(1, "new")
		w.permit(slices.Concat(consumer, creator))
		w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "2s", "--health", "off")
		created := w.taken(t)
		w.permit(consumer)

		orders(7, "paid")
		w.write(t, "d", map[string]any{"Status": "paid", "Email": "a@example.com", "Total": 3})                                 // a has the row
		w.write(t, "e", map[string]any{"Status": "paid", "Email": "e@example.com", "Total": "many", "Text": noise(t, 330_000)}) // "many" counts nowhere
		w.write(t, "g", map[string]any{"Status": "paid", "Email": "g@example.com", "Total": 1, "Text": noise(t, 150_000)})
		w.run(t, file, "consume", "--live", "--exit-when-idle", "2s", "--health", "off")
		w.write(t, "g", map[string]any{"Status": "paid", "Email": "g@example.com", "Total": 1, "Text": noise(t, 150_000)})
		w.write(t, "a", map[string]any{"Status": "sent", "Email": "z@example.com", "Total": 2})
		w.write(t, "b", nil)
		w.run(t, file, "consume", "--live", "--exit-when-idle", "2s", "--health", "off")
		run := w.taken(t)

		w.permit(redriver)
		w.run(t, file, "redrive", "--live", "--sink", "own") // it gives letters of other sinks back
		w.run(t, file, "redrive", "--live")
		redriven := w.taken(t)

		allowed(t, file+", creating", created, slices.Concat(consumer, creator))
		allowed(t, file+", running", run, consumer)
		allowed(t, file+", redriving", redriven, redriver)
		called(t, file+", creating", created, creator, nil)
		maps.Copy(run, created) // the first run makes leases, fingerprints and indexes
		called(t, file+", running", run, consumer, unheld[file])
		maps.Copy(redriven, run)
		called(t, file+", redriving", redriven, redriver, unheld[file])
	}
}

// If a policy lacks a right, a call is refused and the program says so. A pipeline writes only rows of its own.
func TestWhatNoStatementAllowsIsRefused(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	cfg := w.config(t, file)
	all := slices.Concat(policy.Statements(cfg, policy.Options{Runner: policy.Consumer}), policy.Statements(cfg, policy.Options{Runner: policy.Creator}))
	w.write(t, "a", map[string]any{"Status": "new", "Email": "a@example.com", "Total": 1})
	consume := []string{"consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off"}
	w.permit(all)
	w.run(t, file, consume...)
	// These other statements allow the same actions.
	creates := map[string]string{"StateTable": "CreateTables", "DeadLetters": "CreateQueues"}
	for _, s := range all {
		if s.Sid != "State" && s.Sid != "StateShared" && s.Sid != "StateTable" && s.Sid != "Leases" && s.Sid != "DeadLetters" {
			continue
		}
		w.permit(slices.DeleteFunc(slices.Clone(all), func(o policy.Statement) bool {
			return o.Sid == s.Sid || o.Sid == creates[s.Sid]
		}))
		if out, err := w.try(t, file, consume...); err == nil || !strings.Contains(out, "denied") && !strings.Contains(out, "AccessDenied") {
			t.Errorf("without the statement %s: %v\n%s", s.Sid, err, out)
		}
	}

	// The rights of another pipeline over the same tables are not enough. Its name is the beginning of this pipeline's
	// name.
	shorter := *cfg
	shorter.Name = cfg.Name[:len(cfg.Name)-1]
	w.permit(slices.Concat(policy.Statements(&shorter, policy.Options{Runner: policy.Consumer}), policy.Statements(&shorter, policy.Options{Runner: policy.Creator})))
	if out, err := w.try(t, file, consume...); err == nil || !strings.Contains(out, "denied") && !strings.Contains(out, "AccessDenied") {
		t.Errorf("with the rights of the pipeline %s: %v\n%s", shorter.Name, err, out)
	}

	w.permitAll()
	own := 0
	for _, pk := range w.keys(t, cfg.State.Table.Name) {
		switch {
		case strings.HasPrefix(pk, cfg.Name+"#"):
			own++
		case pk != "#quotas" && pk != "#leases#"+cfg.Leases.Table.Name:
			t.Errorf("the pipeline %s wrote a row under %s", cfg.Name, pk)
		}
	}
	if own == 0 {
		t.Error("the pipeline wrote no row")
	}
}

// A purge of a state table needs a Scan, which only a statement of its own allows.
func TestPurgeTakesAScan(t *testing.T) {
	const file = "queue.yaml"
	w := newWorld(t)
	cfg := w.config(t, file)
	w.write(t, "a", map[string]any{"Status": "new", "Email": "a@example.com", "Total": 1})
	w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "1s", "--health", "off")
	w.write(t, "a", nil)
	w.run(t, file, "consume", "--live", "--exit-when-idle", "1s", "--health", "off")
	w.taken(t)
	db, err := statedynamo.New(statedynamo.Options{Client: w.judged(t), Table: cfg.State.Table.Name, Pipeline: cfg.Name})
	if err != nil {
		t.Fatal(err)
	}
	w.permit(policy.Statements(cfg, policy.Options{Runner: policy.Consumer}))
	if n, err := db.Purge(t.Context(), time.Now().Add(time.Hour)); err == nil {
		t.Errorf("%d rows are purged without the right to Scan", n)
	}
	purger := policy.Statements(cfg, policy.Options{Runner: policy.Consumer, Purge: true})
	w.permit(purger)
	if n, err := db.Purge(t.Context(), time.Now().Add(time.Hour)); err != nil || n == 0 {
		t.Errorf("%d rows are purged, %v", n, err)
	}
	i := slices.IndexFunc(purger, func(s policy.Statement) bool { return s.Sid == "StatePurge" })
	called(t, "purging", w.taken(t), purger[i:i+1], nil)
}

// A backfill and its parts are rows of the pipeline's state. They need no right that the processes of the pipeline
// lack.
func TestBackfillsNeedNoOtherRight(t *testing.T) {
	w := newWorld(t)
	cfg := w.config(t, "queue.yaml")
	db, err := statedynamo.New(statedynamo.Options{Client: w.judged(t), Table: cfg.State.Table.Name, Pipeline: cfg.Name})
	if err != nil {
		t.Fatal(err)
	}
	w.permit(policy.Statements(cfg, policy.Options{Runner: policy.Creator}))
	if err := db.Create(t.Context(), db.StateTable()); err != nil {
		t.Fatal(err)
	}
	for run, runner := range map[string]policy.Runner{"run-1": policy.Consumer, "run-2": policy.Function} {
		w.permit(policy.Statements(cfg, policy.Options{Runner: runner}))
		s := db.State(cfg.Name)
		begun, err := s.AddBackfill(t.Context(), state.Backfill{Run: run, Start: time.Now(), Parts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddBackfill(t.Context(), begun); err != nil {
			t.Error(err)
		}
		for b, err := range s.Backfills(t.Context()) {
			if err != nil || b.Run != run {
				t.Errorf("%+v, %v", b, err)
			}
		}
		part := state.Part{Run: run, ID: "1", Owner: "a", Counter: 1}
		for _, want := range []bool{true, false} { // the second call finds the part
			now := part
			if !want {
				now.Owner = "b"
			}
			if done, err := s.SetPart(t.Context(), state.Part{}, now); err != nil || done != want {
				t.Errorf("%v, %v, want %v", done, err, want)
			}
		}
		for p, err := range s.Parts(t.Context(), run) {
			if err != nil || p != part {
				t.Errorf("%+v, %v", p, err)
			}
		}
		if err := s.RemoveBackfill(t.Context(), run); err != nil {
			t.Error(err)
		}
	}
}

// noise returns a text that no compression makes smaller than half of its size.
func noise(t *testing.T, size int) string {
	t.Helper()
	b := make([]byte, size/2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// allowed checks that the statements allow each call.
func allowed(t *testing.T, when string, calls map[call]bool, ss []policy.Statement) {
	t.Helper()
	for c := range calls {
		if !slices.ContainsFunc(ss, func(s policy.Statement) bool { return iam.Applies(s, c.request()) }) {
			t.Errorf("%s: %s on %s (%q) is called, and no statement allows it", when, c.action, c.resource, c.keys)
		}
	}
}

// called checks that each action of each statement was called. The rare actions and the others may be missing.
func called(t *testing.T, when string, calls map[call]bool, ss []policy.Statement, others map[string]string) {
	t.Helper()
	for _, s := range ss {
		for _, action := range s.Actions {
			used := false
			for c := range calls {
				used = used || c.action == action && iam.Applies(s, c.request())
			}
			own := s.Sid + " " + action
			if !used && others[action]+others[own]+rare[action]+rare[own] == "" {
				t.Errorf("%s: statement %s allows %s on %v, which is never called", when, s.Sid, action, s.Resources)
			}
		}
	}
}

package rights

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
)

// rare are actions, of a statement or of all, that no run here needs.
var rare = map[string]string{
	"s3:AbortMultipartUpload":             "an object in parts, of more than 64 MB, whose upload fails",
	"Leases dynamodb:DeleteItem":          "a shard that is done, when its children are read",
	"Leases dynamodb:GetItem":             "an answer that got lost is read back",
	"AggregateSums dynamodb:BatchGetItem": "the same",
	"AggregateSums dynamodb:PutItem":      "a group whose last share another writer took meanwhile, or a sum beyond 38 digits",
	"DeadLettersLarge s3:DeleteObject":    "a large letter that can be delivered",
}

func TestPoliciesAreWhatIsCalled(t *testing.T) {
	w := newWorld(t)
	orders := func(total int, status string) {
		for _, key := range []string{"a", "b", "c"} {
			w.write(t, key, map[string]any{"Status": status, "Email": key + "@example.com", "Total": total})
		}
	}
	for _, file := range []string{"everything.yaml", "queue.yaml"} {
		cfg := w.config(t, file)
		orders(1, "new")
		w.run(t, file, "consume", "--live", "--create", "--exit-when-idle", "2s", "--health", "off")
		created := w.taken(t)

		orders(7, "paid")
		w.write(t, "d", map[string]any{"Status": "paid", "Email": "a@example.com", "Total": 3})                                 // a has the row
		w.write(t, "e", map[string]any{"Status": "paid", "Email": "e@example.com", "Total": "many", "Text": noise(t, 330_000)}) // counts nowhere
		w.write(t, "g", map[string]any{"Status": "paid", "Email": "g@example.com", "Total": 1, "Text": noise(t, 150_000)})
		w.run(t, file, "consume", "--live", "--exit-when-idle", "2s", "--health", "off")
		w.write(t, "g", map[string]any{"Status": "paid", "Email": "g@example.com", "Total": 1, "Text": noise(t, 150_000)})
		w.write(t, "a", map[string]any{"Status": "sent", "Email": "z@example.com", "Total": 2})
		w.write(t, "b", nil)
		w.run(t, file, "consume", "--live", "--exit-when-idle", "2s", "--health", "off")
		run := w.taken(t)

		w.run(t, file, "redrive", "--live", "--sink", "own") // what it reads of other sinks it gives back
		w.run(t, file, "redrive", "--live")
		redriven := w.taken(t)

		consumer := policy.Of(cfg, policy.Options{Runner: policy.Consumer})
		redriver := policy.Of(cfg, policy.Options{Runner: policy.Consumer, Redrive: true})
		creator := policy.Of(cfg, policy.Options{Runner: policy.Creator})
		allowed(t, file+", creating", created, slices.Concat(consumer, creator))
		allowed(t, file+", running", run, consumer)
		allowed(t, file+", redriving", redriven, redriver)
		called(t, file+", creating", created, creator, nil)
		maps.Copy(run, created) // the first run makes leases, fingerprints and indexes
		called(t, file+", running", run, consumer, nil)
		maps.Copy(redriven, run)
		called(t, file+", redriving", redriven, redriver, nil)
	}
}

// noise is a text that no compression makes smaller than the half.
func noise(t *testing.T, size int) string {
	t.Helper()
	b := make([]byte, size/2)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(b)
}

// allowed checks that statements allow each call.
func allowed(t *testing.T, when string, calls map[call]bool, ss []policy.Statement) {
	t.Helper()
	for c := range calls {
		if !slices.ContainsFunc(ss, func(s policy.Statement) bool { return allows(s, c) }) {
			t.Errorf("%s: %s on %s is called, and no statement allows it", when, c.action, c.resource)
		}
	}
}

// called checks that each action of each statement was called, but for some others and rare ones.
func called(t *testing.T, when string, calls map[call]bool, ss []policy.Statement, others map[string]string) {
	t.Helper()
	for _, s := range ss {
		for _, action := range s.Actions {
			used := false
			for c := range calls {
				used = used || c.action == action && allows(s, c)
			}
			if !used && others[action] == "" && rare[action] == "" && rare[s.Sid+" "+action] == "" {
				t.Errorf("%s: statement %s allows %s on %v, which is never called", when, s.Sid, action, s.Resources)
			}
		}
	}
}

// allows tells whether a statement allows a call.
func allows(s policy.Statement, c call) bool {
	return slices.Contains(s.Actions, c.action) && slices.ContainsFunc(s.Resources, func(r string) bool {
		if c.resource == "" {
			return true
		}
		head, wild := strings.CutSuffix(r, "*")
		ok, _ := path.Match(r, c.resource)
		return ok || wild && strings.HasPrefix(c.resource, head)
	})
}

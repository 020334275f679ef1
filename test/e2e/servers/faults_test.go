package servers

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/faults"
)

// Whatever fails between the pipeline and its servers, the result is that of a clean pass, and both ledgers balance.
func TestFaultsOfTheNetwork(t *testing.T) {
	t.Parallel()
	records := world.Begun(t, 150)
	for _, f := range faults.All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, world.Running(t))
			between, to := world.Proxied(t, w.To)
			cfg := w.Shop(t, to)
			p := w.Worker(t, cfg, to)
			for _, b := range between {
				if err := b.Begin(f, 700*time.Millisecond); err != nil {
					t.Fatal(err)
				}
			}
			world.Pass(t, p, records)
			world.Same(t, w.Read(t, cfg), world.Embedded(t, cfg, w.Names, records))
		})
	}
}

// One fault after the other hits random servers while two workers deliver. The result is that of a clean pass.
func TestAnEvilNetwork(t *testing.T) {
	t.Parallel()
	records := world.Begun(t, 200)
	w := world.New(t, world.Running(t))
	between, to := world.Proxied(t, w.To)
	cfg := w.Shop(t, to)
	first, second := w.Worker(t, cfg, to), w.Worker(t, cfg, to)
	done := make(chan struct{})
	go func() {
		defer close(done)
		world.Pass(t, first, records)
		world.Pass(t, second, records[rand.IntN(len(records)):])
	}()
	all := faults.All()
	for round := 0; ; round++ {
		select {
		case <-done:
			world.Same(t, w.Read(t, cfg), world.Embedded(t, cfg, w.Names, records))
			return
		case <-time.After(150 * time.Millisecond):
		}
		if round < 40 {
			f, b := all[rand.IntN(len(all))], between[rand.IntN(len(between))]
			if err := b.Begin(f, 400*time.Millisecond); err != nil {
				t.Error(err)
			}
		}
	}
}

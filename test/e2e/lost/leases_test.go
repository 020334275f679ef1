package lost

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/local"
	"github.com/tablewake/tablewake/test/e2e/world"
)

// If the leases show that the stream was read before, and the state has no outputs, then the state was lost, even if
// nothing else is left. The outputs of all sinks must be accepted together. After that the pipeline continues.
func TestLeases_TellOfALostState(t *testing.T) {
	w := &world.World{Names: world.NewNames()}
	cfg := w.Config(t, t.TempDir(), every, world.Endpoints{OpenSearch: "http://unused"})
	stores, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer stores.Close()
	const how = "leases say that the stream was read"
	_, err = sinks.Assemble(t.Context(), cfg, stores, sinks.SourceWasRead(how))
	refused(t, "leases", err)
	if strings.Count(err.Error(), how) != len(cfg.Sinks) {
		t.Errorf("not each sink is refused: %v", err)
	}
	if _, err := sinks.Adopt(t.Context(), cfg, stores, how, "sums"); err == nil || !strings.Contains(err.Error(), "adopt all sinks together") {
		t.Errorf("one sink of a lost state: %v", err)
	}
	all, err := sinks.Adopt(t.Context(), cfg, stores, how)
	if err == nil && len(all) != len(cfg.Sinks) {
		t.Errorf("%d sinks are shown", len(all))
	}
	if err := errors.Join(err, sinks.Accept(t.Context(), cfg, stores, all)); err != nil {
		t.Fatal(err)
	}
	p, err := sinks.Assemble(t.Context(), cfg, stores, sinks.SourceWasRead(how), sinks.Finite())
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t, p, history(rand.New(rand.NewPCG(1, 1)), 20)); err != nil {
		t.Error(err)
	}
}

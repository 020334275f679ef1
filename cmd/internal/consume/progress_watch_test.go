package consume

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/replay"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/coordinator"
)

// At its end a consumer reports the shards that do not progress, even those without an owner.
func TestVerdict_StoppedShards(t *testing.T) {
	stop := newStopper(t.Context(), time.Minute)
	defer stop.close()
	c := &consumerRun{
		o: &options{Flags: target.Flags{Live: true}}, cfg: &config.Config{File: "shop.yaml"}, stop: stop,
		stopReasons: map[string]string{"shardId-2": "a gap", "shardId-1": coordinator.StoppedDamaged},
	}
	for _, others := range []string{", and so is another one", ""} {
		err := c.exitError(replay.Summary{Balanced: true}, nil)
		if err == nil || cli.ExitCode(err) != cli.ExitUnhealthy || !strings.Contains(err.Error(), "shard shardId-1 is read no further ("+coordinator.StoppedDamaged+")"+others+": `tablewake status -c shop.yaml --live`") {
			t.Errorf("the verdict is %v", err)
		}
		delete(c.stopReasons, "shardId-2")
	}
	c.stopReasons = nil
	if err := c.exitError(replay.Summary{Balanced: true}, nil); err != nil {
		t.Errorf("nothing stands still, and the verdict is %v", err)
	}
}

// The log has the reason why a consumer was stopped hard, not the type of an error.
func TestStopper_CausesAreLogged(t *testing.T) {
	for _, cause := range []error{errSecondSignal, errStopTimeout} {
		if text := redact.LogText(cause); text != "stopped: "+cause.Error() {
			t.Errorf("the log has %q of %v", text, cause)
		}
	}
}

package consume

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
)

// month is the period of the printed calls and costs.
const month = 30 * 24 * time.Hour

// callsText formats a number of GetRecords calls with its list price.
func callsText(calls float64) string {
	return fmt.Sprintf("%s GetRecords calls in 30 days, $%.2f", cli.Thousands(int64(calls)),
		calls*cost.PriceOf(cost.Streams, "read").Dollars)
}

// pollingText describes how often an idle shard is polled, and the cost. A pause has jitter: it is between MaxIdle/2
// and MaxIdle, on average 0.75 MaxIdle.
func pollingText(p config.Polling) string {
	callsWhenIdle := float64(month) / (0.75 * float64(p.MaxIdle))
	text := fmt.Sprintf("polling: a shard without news is asked again after %s at most, which is about %s", p.MaxIdle,
		callsText(callsWhenIdle))
	if p.CallsPerMonth > 0 {
		text += fmt.Sprintf("; less often if all consumers together would pass %s", callsText(float64(p.CallsPerMonth)))
	}
	return text + " (list price of us-east-1)"
}

// startText describes where the reading of a stream starts.
func startText(s config.Start) string {
	switch {
	case s.Latest:
		return "from its newest records where it was not read before"
	case !s.Time.IsZero():
		return "from " + s.Time.Format(time.RFC3339) + " where it was not read before"
	}
	return "from its oldest record where it was not read before"
}

// gapTexts describe, for each source.on_gap, what happens to shards that lost records.
var gapTexts = map[config.OnGap]string{
	config.OnGapStop:     "shards stop at gaps",
	config.OnGapContinue: "gaps are passed over",
	config.OnGapRepair:   "gaps are passed over, and then the sinks are repaired",
}

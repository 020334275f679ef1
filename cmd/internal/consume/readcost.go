package consume

import (
	"fmt"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/telemetry/cost"
)

// month is what a month of calls and costs is here.
const month = 30 * 24 * time.Hour

// callsText is a number of calls and what they cost at list price.
func callsText(calls float64) string {
	return fmt.Sprintf("%s GetRecords calls in 30 days, $%.2f", cli.Thousands(int64(calls)), calls*cost.PriceOf(cost.Streams, "read").Dollars)
}

// pollingText says how often shards are asked, and what that comes to. A pause is
// between half of the longest and all of it, so that shards are not asked all at once.
func pollingText(p config.Polling) string {
	idle := float64(month) / (0.75 * float64(p.MaxIdle))
	text := fmt.Sprintf("polling: a shard without news is asked again after %s at most, which is about %s", p.MaxIdle, callsText(idle))
	if p.CallsPerMonth > 0 {
		text += fmt.Sprintf("; less often where all consumers together would pass %s", callsText(float64(p.CallsPerMonth)))
	}
	return text + " (list price of us-east-1)"
}

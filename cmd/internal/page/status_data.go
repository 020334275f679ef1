package page

import (
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
)

// Status is the data of the page, and the answer of a consumer's /status.
type Status struct {
	*health.Verdict // health of this process; nil: it is not a consumer
	// Consumer is this process; nil if this process is not a consumer, or is starting
	Consumer   *fleet.Process `json:"consumer,omitempty"`
	Fleet      *fleet.Report  `json:"fleet,omitempty"`       // all consumers; nil: their stores were not read yet
	FleetError string         `json:"fleet_error,omitempty"` // error of the last attempt to read these stores
}

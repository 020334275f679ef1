package page

import (
	"github.com/tablewake/tablewake/cmd/internal/fleet"
	"github.com/tablewake/tablewake/cmd/internal/health"
)

// Status is what the page shows, and what /status of a consumer answers.
type Status struct {
	*health.Verdict                // of this process; nil: it is no consumer
	Consumer        *fleet.Process `json:"consumer,omitempty"`    // this process; nil: it is no consumer, or is starting
	Fleet           *fleet.Report  `json:"fleet,omitempty"`       // all consumers; nil: nobody has looked yet
	FleetError      string         `json:"fleet_error,omitempty"` // why the last look at all consumers failed
}

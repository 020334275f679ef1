package sqlite

import (
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/state"
)

// claimRow is a claim as the file has it.
type claimRow struct {
	source, version string
	time            int64  // Unix nanoseconds
	attributes      string // DynamoDB JSON
}

func rowOfClaim(c *state.Claim) claimRow {
	b := []byte{'{'}
	for i, a := range c.Attributes {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.Value.AppendDynamoDBJSON(append(appendName(b, a.Name), ':'))
	}
	return claimRow{string(c.Source), c.Version.String(), c.Time.UnixNano(), string(append(b, '}'))}
}

func (r *claimRow) claim() (state.Claim, error) {
	c := state.Claim{Source: pipeline.Key(r.source), Time: time.Unix(0, r.time).UTC()}
	var err error
	if c.Version, err = pipeline.ParseVersion(r.version); err != nil {
		return c, err
	}
	image, err := pipeline.ParseImage([]byte(r.attributes))
	for name, v := range image.All() {
		c.Attributes = append(c.Attributes, state.Column{Name: name, Value: v})
	}
	return c, err
}

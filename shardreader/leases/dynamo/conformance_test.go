package dynamo_test

import (
	"testing"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/leasestest"
	"github.com/tablewake/tablewake/sinks/state/dynamo/dynamotest"
)

func TestConformance(t *testing.T) {
	server := dynamotest.Open(t)
	leasestest.Run(t, func(t *testing.T) leases.Table { return open(t, server, nil) })
}

// A write whose answer was lost is recognised when it is sent again.
func TestConformance_Lost(t *testing.T) {
	server := dynamotest.Open(t)
	leasestest.RunLostAnswers(t, func(t *testing.T) (leases.Table, func()) {
		faults := &dynamotest.Faults{}
		return open(t, server, faults), func() {
			op := map[string]string{"Swap": "UpdateItem", "Create": "PutItem", "Delete": "DeleteItem", "Heartbeat": "PutItem", "Reserve": "UpdateItem"}
			faults.Next(op[t.Name()[len("TestConformance_Lost/"):]], dynamotest.Lost())
		}
	})
}

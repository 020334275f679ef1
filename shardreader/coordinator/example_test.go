package coordinator_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tablewake/tablewake/shardreader/coordinator"
	"github.com/tablewake/tablewake/shardreader/leases"
)

// A consumer performs the actions of a step, and each result is the event of another step. Package shardreader/consumer does
// this for every action.
func ExampleCoordinator() {
	c, err := coordinator.New(coordinator.Options{ID: "consumer-1", Sources: []coordinator.Source{{Table: "orders"}}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	table := leases.NewMemory(leases.Snapshot{})
	events := []coordinator.Event{coordinator.Tick{}}
	for len(events) > 0 {
		event := events[0]
		events = events[1:]
		for _, action := range c.Step(0, event) { // no time passes here
			switch a := action.(type) {
			case coordinator.WriteHeartbeat:
				fmt.Println("write heartbeat", a.Member.Heartbeat, "of", a.Member.ID)
				events = append(events, coordinator.WriteResult{Call: a.Call, Err: table.Heartbeat(ctx, a.Member)})
			case coordinator.ReadTable:
				fmt.Println("read the lease table")
				rows, err := table.Read(ctx)
				events = append(events, coordinator.ReadTableResult{Call: a.Call, Snapshot: rows, Err: err})
			case coordinator.ListStreams:
				fmt.Println("list the streams of", a.Table)
				return
			}
		}
	}
	// Output:
	// write heartbeat 1 of consumer-1
	// read the lease table
	// list the streams of orders
}

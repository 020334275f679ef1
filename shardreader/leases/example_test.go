package leases_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// Two consumers take a lease that both have read. One of them gets it, and only it can write a checkpoint.
func ExampleTable() {
	ctx := context.Background()
	var table leases.Table = leases.NewMemory(leases.Snapshot{})
	free := leases.Lease{Shard: "shard-1"}
	if err := table.Create(ctx, free); err != nil {
		log.Fatal(err)
	}
	first, second := free, free
	first.Owner, first.Counter = "consumer-1", free.Counter+1
	second.Owner, second.Counter = "consumer-2", free.Counter+1
	if err := table.Swap(ctx, free, first); err != nil {
		log.Fatal(err)
	}
	err := table.Swap(ctx, free, second)
	if conflict, ok := leases.AsConflict(err); ok {
		fmt.Println("the lease is of", conflict.Current.Owner)
	}

	read := first
	read.Checkpoint, read.Counter = leases.After("300"), first.Counter+1
	if err := table.Swap(ctx, first, read); err != nil {
		log.Fatal(err)
	}
	rows, err := table.Read(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range rows.Leases {
		fmt.Println(l.Shard, "is read up to", l.Checkpoint)
	}
	// Output:
	// the lease is of consumer-1
	// shard-1 is read up to 300
}

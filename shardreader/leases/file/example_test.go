package file_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/shardreader/leases/file"
)

// A process stores how far it read a shard, and the next process continues from there.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "leases")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "orders.leases")
	read := leases.Lease{Shard: "shard-1", Owner: "process-1", Counter: 1, Checkpoint: leases.After("300")}
	if err := keepLease(path, read); err != nil {
		log.Print(err)
		return
	}

	table, err := file.Open(path, "orders")
	if err != nil {
		log.Print(err)
		return
	}
	defer table.Close()
	rows, err := table.Read(context.Background())
	if err != nil {
		log.Print(err)
		return
	}
	for _, l := range rows.Leases {
		fmt.Printf("%s is read up to %s, owner %q\n", l.Shard, l.Checkpoint, l.Owner)
	}
	// Output:
	// shard-1 is read up to 300, owner ""
}

// keepLease is the first process.
func keepLease(path string, l leases.Lease) error {
	table, err := file.Open(path, "orders")
	if err != nil {
		return err
	}
	return errors.Join(table.Create(context.Background(), l), table.Close())
}

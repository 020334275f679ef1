package replay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader/replay"
)

// A pipeline reads a source page by page, and so can a program.
func ExampleOpen() {
	const saved = `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","Keys":{"PK":{"S":"A"}},"NewImage":{"PK":{"S":"A"}}}}
{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"2","Keys":{"PK":{"S":"A"}}}}`
	source, err := replay.Open(replay.Options{
		Paths:   []string{"-"},
		Stdin:   strings.NewReader(saved),
		Decoder: record.DecoderOptions{Table: "shop", EpochZero: true}, // the records do not name their stream
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer source.Close()
	for {
		page, err := source.Read(context.Background())
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			fmt.Println(err)
			return
		}
		decoded, err := page.Decode()
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, c := range decoded.Changes {
			fmt.Println(c.Op, c.Key)
		}
	}
	// Output:
	// INSERT A
	// REMOVE A
}

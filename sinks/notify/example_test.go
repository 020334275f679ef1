package notify_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/rules"
	"github.com/tablewake/tablewake/shardreader/replay"
	"github.com/tablewake/tablewake/sinks/notify"
)

// An order is paid and then completed.
const orders = `
{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"O1"}},
 "NewImage":{"PK":{"S":"O1"},"Status":{"S":"paid"}}}}
{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2","StreamViewType":"NEW_AND_OLD_IMAGES","Keys":{"PK":{"S":"O1"}},
 "OldImage":{"PK":{"S":"O1"},"Status":{"S":"paid"}},"NewImage":{"PK":{"S":"O1"},"Status":{"S":"completed"}}}}
`

// printed is a store that prints the messages.
type printed struct{}

func (printed) Publish(_ context.Context, ms []notify.Message) error {
	for i := range ms {
		fmt.Println(ms[i].Type, ms[i].Key)
		fmt.Println(string(ms[i].Data()))
	}
	return nil
}

// A detector of the pipeline raises events, and the sink publishes them.
func Example() {
	status, err := item.ParsePath("Status")
	if err != nil {
		log.Fatal(err)
	}
	sink, err := notify.New(notify.Options{Pipeline: "shop", Store: printed{}, Events: []string{"order_completed"}})
	if err != nil {
		log.Fatal(err)
	}
	p, err := pipeline.New(pipeline.Options{
		Name:      "shop",
		Detectors: []pipeline.NamedDetector{{Name: "order_completed", Detector: rules.Transition(status, "*", "completed")}},
		Routes:    []pipeline.Route{{Name: "completed", Sink: sink, NeedsEvents: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	source, err := replay.Open(replay.Options{
		Paths: []string{"-"}, Stdin: strings.NewReader(orders), Decoder: record.DecoderOptions{Table: "shop", EpochZero: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer source.Close()
	if err := p.Run(context.Background(), source, nil); err != nil {
		log.Print(err)
	}
	// Output:
	// tablewake.shop.order_completed O1
	// {"detector":"order_completed","path":"Status","op":"MODIFY","table":"shop","keys":{"PK":"O1"},"old":"paid","new":"completed"}
}

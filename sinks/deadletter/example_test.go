package deadletter_test

import (
	"fmt"
	"log"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/sinks/deadletter"
)

// A store writes a dead letter as one line of JSON and reads the line back.
func Example() {
	letter := pipeline.DeadLetter{
		Pipeline: "shop", Sink: "crm", Key: "ORDER-1", Class: "write", Error: "no such customer",
		Raw: []byte(`{"eventName":"REMOVE"}`), Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	line, err := deadletter.Append(nil, &letter)
	if err != nil {
		log.Fatal(err)
	}
	back, id, err := deadletter.Parse(line)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(back.Sink, back.Key, back.Error)
	fmt.Println(string(back.Raw))
	fmt.Println("the ID is that of the letter:", id == deadletter.ID(&letter))
	// Output:
	// crm ORDER-1 no such customer
	// {"eventName":"REMOVE"}
	// the ID is that of the letter: true
}

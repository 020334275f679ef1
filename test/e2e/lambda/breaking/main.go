// Command breaking is a function with a Go sink that does what an attribute of an item says: it panics, ends the
// process, never returns, or lets another goroutine panic.
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/aws"
)

func main() {
	ctx := context.Background()
	sdk, err := awsconfig.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}
	cfg, err := config.Load(os.Getenv("LAMBDA_TASK_ROOT") + "/tablewake.yaml")
	if err != nil {
		log.Fatal(err)
	}
	p, err := sinks.Assemble(ctx, cfg, aws.Stores(sdk), sinks.Live(), sinks.With("obedient", newObedient))
	if err != nil {
		log.Fatal(err)
	}
	// A machine that runs many tests at once may answer slowly.
	lambda.Start(handlers.DynamoDB(p, handlers.WithReserve(2*time.Second)))
}

// obedient does what the attribute Do of an item says.
type obedient struct{}

func newObedient(context.Context, struct{}) (pipeline.Sink, error) { return obedient{}, nil }

// Write implements [pipeline.Sink].
func (obedient) Write(_ context.Context, ds []pipeline.Delivery) error {
	for _, d := range ds {
		v, _ := d.Change.New.Get("Do")
		switch do, _ := v.Text(); do {
		case "panic":
			panic("as asked")
		case "exit":
			os.Exit(7)
		case "never return":
			select {}
		case "panic elsewhere":
			done := make(chan struct{})
			go func() { // no code can recover from this panic
				defer close(done)
				panic("as asked")
			}()
			<-done
		}
	}
	return nil
}

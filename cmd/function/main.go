// Package function is the bootstrap of a Lambda function for a program of your own. Your program adds Go code to the
// function: sinks, filters, functions of detectors and functions of entities. The package links no command line.
//
//	func main() { function.Main(sinks.With("crm", newCRM)) }
//
// Build your program as cmd/lambda is built, which is this bootstrap without added code. The comment of cmd/lambda
// describes the events that the function handles, and its environment variables.
package function

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/tablewake/tablewake/handlers"
	"github.com/tablewake/tablewake/sinks"
)

// Main runs the pipeline of the function's configuration with the extensions. It makes the Go sinks before the first
// event, in Lambda's init phase. Main never returns.
func Main(exts ...sinks.Extension) {
	handlers.TuneGC(os.LookupEnv)
	log := slog.New(lambdacontext.NewLogHandler())
	f, err := newHandler(context.Background(), log, exts)
	if err != nil {
		log.Error("the function cannot start", slog.String("error", err.Error()))
		os.Exit(1)
	}
	lambda.Start(f)
}

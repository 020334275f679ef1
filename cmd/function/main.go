// Package function is the bootstrap of a Lambda function in a program of your own, which adds Go code to it: sinks,
// filters, functions of detectors, functions of entities. It links no command line.
//
//	func main() { function.Main(sinks.With("crm", newCRM)) }
//
// Build it as cmd/lambda, which is this bootstrap without any code of its own. The comment of that command says what
// the function handles, and what its environment is.
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
// event, in Lambda's init phase, and it never returns.
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

// Command lambda is the bootstrap of a Lambda function that carries the changes of a
// table: a handler of stream events, Kinesis events and redrives for the pipeline of a
// tablewake.yaml.
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc,grpcnotrace -trimpath -ldflags '-s -w' -o bootstrap ./cmd/lambda
//
// Without the tag grpcnotrace it works as well, and is half as large again: gRPC, which OTLP's
// messages come with, then brings a page of HTML of its own, whose templates keep the linker
// from leaving out what nobody calls.
//
// It runs on provided.al2023. Everything is opened before the first event, in the phase
// that Lambda gives to it; what is missing there ends it with a line that says what to do.
//
// TABLEWAKE_CONFIG says where the configuration is: a path, s3://BUCKET/KEY, or
// ssm:NAME, a parameter. By default it is tablewake.yaml of the package, or /opt/tablewake.yaml of a
// layer. Where the file says ${NAME} and that variable of the function is ssm:PARAMETER,
// the parameter's value stands there, decrypted; a secret of Secrets Manager is
// ssm:/aws/reference/secretsmanager/SECRET.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/tablewake/tablewake/handlers"
)

func main() {
	handlers.CollectLess(os.LookupEnv)
	log := slog.New(lambdacontext.NewLogHandler())
	f, err := open(context.Background(), log)
	if err != nil {
		log.Error("the function cannot start", slog.String("error", err.Error()))
		os.Exit(1)
	}
	lambda.Start(f)
}

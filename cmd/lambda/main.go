// Command lambda is the bootstrap of a Lambda function that runs the pipeline of a tablewake.yaml. It handles events of
// DynamoDB streams and of Kinesis streams. It also handles messages about batches that Lambda discarded, and the event
// that requests a redrive of dead letters.
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc,grpcnotrace -trimpath -ldflags '-s -w' -o bootstrap ./cmd/lambda
//
// The tag grpcnotrace makes the program a third smaller. The messages of OTLP depend on gRPC, which links HTML
// templates without this tag. Programs with HTML templates keep all methods, because the linker cannot know which ones
// are unused.
//
// The function runs on the runtime provided.al2023. It opens everything before the first event, in Lambda's init phase.
// If something is missing, the process ends with a log line that says what to do.
//
// With TABLEWAKE_COMMAND=audit the function accepts only the event {"tablewake":"audit"}. It compares a sample of the
// table with the sinks, and needs only the rights of an audit.
//
// TABLEWAKE_CONFIG names the configuration: a path, s3://BUCKET/KEY, or ssm:NAME for a parameter of the Parameter
// Store. The default is tablewake.yaml in the package, otherwise /opt/tablewake.yaml of a layer. If the file uses
// ${NAME} and the function's variable NAME is ssm:PARAMETER, the decrypted value of that parameter replaces ${NAME}.
// For a secret of Secrets Manager write ssm:/aws/reference/secretsmanager/SECRET.
package main

import "github.com/tablewake/tablewake/cmd/function"

func main() { function.Main() }

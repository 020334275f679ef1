// Command lambda is the bootstrap of a Lambda function that runs the pipeline of a tablewake.yaml.
// It handles events of DynamoDB streams and of Kinesis, messages about discarded batches, and
// redrives.
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc,grpcnotrace -trimpath -ldflags '-s -w' -o bootstrap ./cmd/lambda
//
// The tag grpcnotrace makes the program a third smaller. Without it gRPC, a dependency of OTLP's
// messages, brings HTML templates, and these prevent the linker from removing unused methods.
//
// The function runs on provided.al2023. It opens everything before the first event, in Lambda's
// init phase. If something is missing, the process ends with a line that says what to do.
//
// With TABLEWAKE_COMMAND=audit the function accepts only the event {"tablewake":"audit"}. It compares a sample of the
// table with the sinks, and needs only the rights of an audit.
//
// TABLEWAKE_CONFIG names the configuration: a path, s3://BUCKET/KEY, or ssm:NAME, a parameter. The
// default is tablewake.yaml in the package, or /opt/tablewake.yaml of a layer. If the file uses
// ${NAME} and the function's variable NAME is ssm:PARAMETER, the decrypted value of the parameter
// replaces it. A secret of Secrets Manager is ssm:/aws/reference/secretsmanager/SECRET.
package main

import "github.com/tablewake/tablewake/cmd/function"

func main() { function.Main() }

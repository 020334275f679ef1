// Command bootstrap is a Lambda function in a repository of its own, with the same Go code as the command line.
//
//	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc,grpcnotrace -o bootstrap ./bootstrap
//
// The file tablewake.yaml is beside the bootstrap in the function's package.
package main

import (
	"example.com/customers/customers"
	"github.com/tablewake/tablewake/cmd/function"
)

func main() { function.Main(customers.Extensions()...) }

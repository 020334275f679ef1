// Command customers is the command line of tablewake in a repository of its own. It has the Go code that tablewake.yaml
// names.
//
//	go run . replay -c tablewake.yaml --local out --custom customers stream.jsonl
package main

import (
	"example.com/customers/customers"
	"github.com/tablewake/tablewake/cmd/cli"
)

func main() { cli.Main(customers.Extensions()...) }

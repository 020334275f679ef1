// Command tablewake carries the changes of a DynamoDB table to views, a search index and an archive. It also shows what
// it would do and what it did.
package main

import "github.com/tablewake/tablewake/cmd/cli"

func main() { cli.Main() }

package telemetry_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tablewake/tablewake/pipeline/telemetry"
)

// Without an endpoint in the environment, nothing is exported, and the providers do no work.
func ExampleStart() {
	ctx := context.Background()
	tel, err := telemetry.Start(ctx, telemetry.Options{Pipeline: "shop", Environ: func(string) string { return "" }})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tel.Enabled())
	if err := tel.Shutdown(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: false
}

package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tablewake/tablewake/test/server"
)

// While servers start, a line names the servers that have not started yet.
func TestSayWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		starting := newNames([]*server.Kind{{Name: "dynamodb"}, {Name: "opensearch"}})
		stop := sayWaiting(&out, starting.list)
		time.Sleep(15 * time.Second)
		starting.remove("dynamodb")
		time.Sleep(10 * time.Second)
		stop()
		time.Sleep(time.Minute)
		const rest = " so far; what is missing in the cache folder is downloaded first\n"
		if want := "servers: waiting for dynamodb, opensearch, 10s" + rest + "servers: waiting for opensearch, 20s" + rest; out.String() != want {
			t.Errorf("printed\n%swant\n%s", &out, want)
		}
	})
}

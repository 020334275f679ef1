// Package health reports whether a consumer is live and ready, and has the command health.
//
// A [Server] asks its [Source] for [Facts] every second and passes them to a [Monitor]. [Monitor.Verdict] answers the
// requests. A consumer without pending records is idle. A consumer that has pending records and has finished none for
// [Options.Patience] is stuck, even if it retries all the time. A consumer is dead if its loop does not run or does not
// answer. A restart helps only a dead consumer. Read health_monitor.go first, then health_server.go.
package health

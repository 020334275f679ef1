package faults

import "time"

// Fault is a fault of the network between a sink and its server.
type Fault struct {
	Name string

	requests, answers way  // nil: no fault
	refuse            bool // connections are refused
}

// String returns the name of the fault.
func (f Fault) String() string { return f.Name }

// All returns the faults with which a slow operation still ends.
func All() []Fault {
	return []Fault{
		Latency(), ResetRequests(), ResetAnswers(), Silence(), SlowClose(), Trickle(), CutAnswers(), CutRequests(), Refusal(),
	}
}

// Latency delays each piece of an answer by 10 to 30 ms.
func Latency() Fault {
	return Fault{Name: "latency", answers: delayed(10*time.Millisecond, 30*time.Millisecond)}
}

// ResetRequests resets a connection with its first request, which the server never sees.
func ResetRequests() Fault { return Fault{Name: "reset of requests", requests: reset} }

// ResetAnswers resets a connection with its first answer: the server did what it was asked to.
func ResetAnswers() Fault { return Fault{Name: "reset of answers", answers: reset} }

// Silence drops answers, and closes the connection after 100 ms.
func Silence() Fault { return Fault{Name: "timeout", answers: silent(100 * time.Millisecond)} }

// Hang drops answers while it lasts, and keeps connections open. It is not in [All].
func Hang() Fault { return Fault{Name: "hang", answers: silent(0)} }

// SlowClose keeps a connection half open for 100 ms after the server has closed it.
func SlowClose() Fault { return Fault{Name: "slow close", answers: closedLate(100 * time.Millisecond)} }

// Trickle lets 256 KB of requests through in a second.
func Trickle() Fault { return Fault{Name: "bandwidth", requests: narrow(256_000)} }

// CutAnswers closes a connection after 2 KB of answers, in the middle of one.
func CutAnswers() Fault { return Fault{Name: "cut answers", answers: limited(2000)} }

// CutRequests closes a connection after 2 KB of requests, in the middle of one.
func CutRequests() Fault { return Fault{Name: "cut requests", requests: limited(2000)} }

// Refusal refuses connections, as while a server restarts.
func Refusal() Fault { return Fault{Name: "refusal", refuse: true} }

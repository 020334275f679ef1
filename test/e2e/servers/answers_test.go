package servers

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/test/e2e/world"
	"github.com/tablewake/tablewake/test/faults"
)

// Impostors answer in place of the servers. The pipeline does not take their answers for successful writes, and
// dead-letters no change because of them. The result is that of a clean pass, without a dead letter.
func TestAnswersThatAreNotTheServers(t *testing.T) {
	t.Parallel()
	records := world.Begun(t, 60)
	for _, a := range faults.Answers() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			w := world.New(t, world.Running(t))
			between := []*faults.Impostor{
				faults.Impersonate(t, w.To.DynamoDB, 0.3), faults.Impersonate(t, w.To.OpenSearch, 0.3), faults.Impersonate(t, w.To.S3, 0.3), faults.Impersonate(t, w.To.SQS, 0.3),
			}
			to := world.Endpoints{DynamoDB: between[0].Endpoint(), OpenSearch: between[1].Endpoint(), S3: between[2].Endpoint(), SQS: between[3].Endpoint()}
			cfg := w.Shop(t, to)
			p := w.Worker(t, cfg, to)
			for _, b := range between {
				b.Give(&a)
			}
			done := make(chan struct{})
			go endAfterAnswers(between, done)
			l := world.Pass(t, p, records)
			close(done)
			if given(between) == 0 {
				t.Error("nothing was answered in a server's place")
			}
			for name, s := range l.Sinks {
				if s.DeadLettered+s.Quarantined > 0 {
					t.Errorf("%s: %+v", name, s)
				}
			}
			world.Same(t, w.Read(t, cfg), world.Embedded(t, cfg, w.Names, records))
		})
	}
}

// endAfterAnswers ends the answers of impostors two seconds after the first of them. On a slow machine the first call
// may come late.
func endAfterAnswers(impostors []*faults.Impostor, done <-chan struct{}) {
	for given(impostors) == 0 {
		select {
		case <-done:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
	for _, i := range impostors {
		i.Give(nil)
	}
}

// given returns how many calls the impostors have answered.
func given(impostors []*faults.Impostor) (n int64) {
	for _, i := range impostors {
		n += i.Given()
	}
	return n
}

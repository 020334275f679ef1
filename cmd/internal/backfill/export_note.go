package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/sinks/state"
)

// exportNote is the note in the state about the export that a run requests. The note is stored before the request, so
// that all processes of the run request the same export and wait for it.
//
// The state keeps the note as the Position of a part. The part is the only one of a run whose id is made by
// [exportRun].
type exportNote struct {
	Destination string    `json:"into"` // s3://BUCKET, or s3://BUCKET/PREFIX
	Time        time.Time `json:"time"` // the export shows the table at this time
	Narrowing   string    `json:"narrowing,omitempty"`
	ARN         string    `json:"arn,omitempty"` // "" before the request
	// Failed is true if the request was refused or the export failed. The next note replaces a failed one
	Failed           bool `json:"failed,omitempty"`
	PreviousAttempts int  `json:"try,omitempty"` // number of notes before this one
}

// exportRun returns the id of the run whose only part is the note about the export of run.
func exportRun(run string) string { return run + ".export" }

// exportPart is the ID of the part that stores the note.
const exportPart = "note"

// exportDestination returns the target of the export, from the flags.
func (j *job) exportDestination() string {
	return strings.TrimSuffix("s3://"+j.o.bucket+"/"+strings.Trim(j.o.prefix, "/"), "/")
}

// clientToken returns the token of the request for DynamoDB. Within eight hours, requests with the same token give the
// same export.
func (n exportNote) clientToken(run string) string {
	return cli.Choose(n.PreviousAttempts == 0, run, fmt.Sprintf("%s-%d", run, n.PreviousAttempts))
}

// nextNote returns the note for the next request. previous is the note before it, or zero.
func (j *job) nextNote(previous exportNote) exportNote {
	n := exportNote{Destination: j.exportDestination(), Narrowing: j.narrowing.String()}
	n.Time = j.selection.earliestSourceTime(j.o.clockSkew)
	now := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	if n.Time.IsZero() {
		n.Time = now
	}
	if previous.Failed {
		n.PreviousAttempts = previous.PreviousAttempts + 1
		// The failed request may have had a time from before point-in-time recovery was enabled.
		if n.Time.Before(now) {
			n.Time = now
		}
	}
	return n
}

// readNote returns the note about the run's export, and the part that stores it. Both are zero if there is no note.
func (j *job) readNote(ctx context.Context) (part state.Part, n exportNote, err error) {
	for p, err := range j.stateStore.Parts(ctx, exportRun(j.selection.runID)) {
		if err != nil {
			return part, n, err
		}
		part = p
	}
	if part == (state.Part{}) {
		return part, n, nil
	}
	if err := json.Unmarshal([]byte(part.Position), &n); err != nil {
		return part, n, fmt.Errorf("the state has a damaged note of the export that the run %s requested: %w", j.selection.runID, err)
	}
	return part, n, j.checkNote(n)
}

// checkNote returns an error if the flags name another export than the note. A failed note is not checked, because
// another note replaces it.
func (j *job) checkNote(n exportNote) error {
	isSame := n.Destination == j.exportDestination() && n.Narrowing == j.narrowing.String()
	if n.Failed || isSame {
		return nil
	}
	return cli.Usagef("the run %s requested an export into %s%s, and not into %s%s: name the same",
		j.selection.runID, n.Destination, narrowingSuffix(n.Narrowing),
		j.exportDestination(), narrowingSuffix(j.narrowing.String()))
}

func narrowingSuffix(narrowing string) string {
	return cli.Choose(narrowing == "", "", " of "+narrowing)
}

// storeNote replaces oldPart, the part that was read, with a part that has the note n. It changes nothing if another
// process has replaced oldPart first.
func (j *job) storeNote(ctx context.Context, oldPart state.Part, n exportNote) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	newPart := state.Part{
		Run: exportRun(j.selection.runID), ID: exportPart, Counter: oldPart.Counter + 1, Position: string(text),
	}
	_, err = j.stateStore.SetPart(ctx, oldPart, newPart)
	return err
}

// exportPath returns the path of the export that a stored run reads. source is the source of the run.
func (j *job) exportPath(source string) (string, error) {
	const folder = "/AWSDynamoDB/"
	destination, rest, hasFolder := strings.Cut(strings.TrimPrefix(source, "export "), folder)
	id, _, hasID := strings.Cut(rest, "/")
	isExport := hasFolder && hasID
	if !isExport || destination != j.exportDestination() {
		return "", cli.Usagef("the run %s reads %s, and not a new export into %s: name the same",
			j.selection.runID, source, j.exportDestination())
	}
	return destination + folder + id, nil
}

// describeExport returns the name of the export that a run would read, for a dry run.
func (j *job) describeExport(ctx context.Context) (string, error) {
	if j.stateStore != nil {
		_, n, err := j.readNote(ctx)
		if err != nil {
			return "", err
		}
		if n.ARN != "" && !n.Failed {
			return "the export " + n.ARN + ", which was requested", nil
		}
	}
	return "a new export into " + j.exportDestination() + "/", nil
}

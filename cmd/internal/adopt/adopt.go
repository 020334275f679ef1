package adopt

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/records"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/state"
)

// options are the flags of `adopt`.
type options struct {
	records.Input
	target.Flags
	sinks  []string
	yes    bool
	format cli.Format
}

// New is the command adopt.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "adopt -c FILE (--live | --local DIR)",
		Short: "Accept a store that was restored, moved or emptied, or changed settings",
		Long: `adopt compares what the sinks have written with what the state has recorded about it, and shows
the sinks where the two do not match. Reasons are: a table, an index, a bucket, a folder or the
state was deleted, replaced or restored from a backup; or the settings of a sink were changed.
The pipeline does not start until this is settled, because changes would count twice or be missing.

For each such sink, adopt shows what was recorded, what exists now, and how many rows or documents
belong to which birth of the output. Then it asks, and records what exists now: the new identity
of a restored table, rows that contain their guards, or a new beginning of an output that is
empty. If that would be wrong, for example for an aggregate whose state was deleted, adopt
refuses, and says how to fill the sink again.

Stop all consumers first. The exit code is 0 if everything matches at the end, and 1 if not.`,
		Example: `  # Show what does not match, and what can be done
  tablewake adopt -c tablewake.yaml --live

  # A view table that was restored from its backup
  tablewake adopt -c tablewake.yaml --live --sink orders_by_status --yes

  # The state table was deleted: create an empty one, and accept rows that contain their guards
  tablewake adopt -c tablewake.yaml --live --create

  # A condition that failed on some images was corrected: accept it, and deliver the failed changes
  tablewake adopt -c tablewake.yaml --live --sink orders_by_status
  tablewake redrive -c tablewake.yaml --live

  # An index was deleted on purpose: let it begin anew, and fill it from the archive
  tablewake adopt -c tablewake.yaml --live --sink product_search
  tablewake replay -c tablewake.yaml --live s3://audit/changes/`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	cli.AddConfig(c, &o.Config)
	o.Flags.Add(c, "the folder that a replay or a consumer wrote")
	f := c.Flags()
	f.BoolVar(&o.Create, "create", false, "with --live: create the state table if it is missing")
	f.StringSliceVar(&o.sinks, "sink", nil, "only these sinks (default: all)")
	f.BoolVarP(&o.yes, "yes", "y", false, "accept without asking")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) (err error) {
	cfg, err := o.LoadConfig(o.Config)
	if err != nil {
		return err
	}
	if err := cli.CheckSinks(cfg, o.sinks...); err != nil {
		return err
	}
	o.ReadOnly = true
	opened, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if _, err := opened.State(ctx, cfg); err != nil {
		return fmt.Errorf("%w%s", err, cli.Choose(o.Live, " (with adopt: --create makes an empty state table)", ""))
	}
	priorReads, err := stream.PriorReadEvidence(ctx, &o.Flags, cfg)
	if err != nil {
		return err
	}
	adoptions, err := sinks.Adopt(ctx, cfg, opened, priorReads, o.sinks...)
	if err != nil {
		return err
	}
	isAccepted := false
	if len(adoptions) > 0 && !isRefused(adoptions) {
		isAccepted = o.confirm(s, adoptions)
	}
	switch {
	case isAccepted && o.Live:
		err = sinks.Accept(ctx, cfg, opened, adoptions)
	case isAccepted: // the folder is open for reading only
		if err := opened.Close(); err != nil { // the deferred Close does nothing then
			return err
		}
		adoptions, err = o.acceptInFolder(ctx, cfg, s, adoptions, priorReads)
	}
	if err != nil {
		return err
	}
	return o.report(s, adoptions, isAccepted)
}

// isRefused reports whether one of the adoptions is refused. Then none is accepted.
func isRefused(all []sinks.Adoption) bool {
	return slices.ContainsFunc(all, func(a sinks.Adoption) bool { return a.Refused != "" })
}

// acceptInFolder opens the --local folder for writing, and accepts the adoptions that were shown. It returns an error
// if the folder has others now.
func (o *options) acceptInFolder(
	ctx context.Context, cfg *config.Config, s cli.Streams, shown []sinks.Adoption, priorReads string,
) (adoptions []sinks.Adoption, err error) {
	o.ReadOnly = false
	opened, err := o.OpenExisting(ctx, cfg, s.Err)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if adoptions, err = sinks.Adopt(ctx, cfg, opened, priorReads, o.sinks...); err != nil {
		return nil, err
	}
	if !slices.EqualFunc(shown, adoptions, isSame) {
		return nil, errors.New("the folder has changed: stop all consumers, and run the command again")
	}
	return adoptions, sinks.Accept(ctx, cfg, opened, adoptions)
}

// isSame reports whether two adoptions of one output have the same result. It ignores the identity of the state, which
// changes each time a folder is opened for writing.
func isSame(a, b sinks.Adoption) bool {
	return a.Sink == b.Sink && a.Target == b.Target && a.OutputBirth == b.OutputBirth && a.Refused == b.Refused &&
		a.Accepting == b.Accepting
}

// confirm reports whether --yes is given. Without --yes it prints the adoptions and asks the user to accept them.
// With -o json it asks nothing.
func (o *options) confirm(s cli.Streams, all []sinks.Adoption) bool {
	if o.yes || o.format != cli.FormatText {
		return o.yes
	}
	writeAdoptions(s.Out, all)
	fmt.Fprint(s.Out, "accept this? [y/N] ")
	answer, _ := bufio.NewReader(s.In).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == "" {
		fmt.Fprintln(s.Out)
	}
	return answer == "y" || answer == "yes"
}

// report prints the result. It returns an error, which sets the exit code, if a sink needs adopting and nothing was
// accepted.
func (o *options) report(s cli.Streams, all []sinks.Adoption, accepted bool) error {
	refused := isRefused(all)
	wasShown := !refused && !o.yes // by confirm
	switch {
	case o.format == cli.FormatJSON:
		if err := cli.WriteJSON(s.Out, adoptionsJSON(all, accepted)); err != nil {
			return err
		}
	case len(all) == 0:
		fmt.Fprintln(s.Out,
			"what the sinks wrote, what the state remembers and the settings belong together: there is nothing to adopt")
	case !wasShown:
		writeAdoptions(s.Out, all)
	}
	switch {
	case accepted && o.format == cli.FormatText:
		fmt.Fprintf(s.Out, "accepted: %s\n", adoptedNames(all))
	case refused:
		return errors.New("nothing was accepted: fix what cannot be accepted first, or leave it out: name the other sinks with --sink, unless the whole state was lost")
	case len(all) > 0 && !accepted:
		return errors.New("nothing was accepted: --yes accepts it")
	}
	return nil
}

func adoptedNames(all []sinks.Adoption) string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Sink
	}
	return strings.Join(names, ", ")
}

func writeAdoptions(w io.Writer, all []sinks.Adoption) {
	for _, a := range all {
		fmt.Fprintf(w, "%s (%s)\n", a.Sink, strings.TrimSpace(a.Target))
		recorded := "nothing"
		if a.Known {
			recorded = fmt.Sprintf("birth %s of %s; state %s; target %s", a.Recorded.ID,
				a.Recorded.Made.Format(time.RFC3339), orNone(a.Recorded.State), orNone(a.Recorded.Store))
		}
		for _, line := range [][2]string{
			{"problem", a.Problem},
			{"recorded", recorded},
			{"there", fmt.Sprintf("state %s; target %s", orNone(a.StateIdentity), orNone(a.StoreIdentity))},
			{"seen", inspectionText(a.OutputBirth, a.Inspection)},
			{"accepting", a.Accepting},
			{"refused", a.Refused},
		} {
			if label, text := line[0], line[1]; text != "" {
				fmt.Fprintf(w, "  %-11s%s\n", label, text)
			}
		}
	}
}

func orNone(identity string) string { return cmp.Or(identity, "(none)") }

// inspectionText describes the births that an inspection of an output saw. A birth is the random id of an output. Each
// row or document contains the birth of the output that it belongs to. The text also names recordBirth, the birth in
// the output's fingerprint.
func inspectionText(recordBirth string, inspection state.Inspection) string {
	var parts []string
	for _, birth := range slices.Sorted(maps.Keys(inspection.Seen)) {
		parts = append(parts, fmt.Sprintf("%s of the birth %s", cli.Thousands(int64(inspection.Seen[birth])), orNone(birth)))
	}
	text := cmp.Or(strings.Join(parts, ", "), "nothing")
	if !inspection.Complete && len(parts) > 0 {
		text += ", as far as was looked"
	}
	if recordBirth != "" {
		text += "; the record of the settings bears " + recordBirth
	}
	return text
}

// adoptionJSON is a sink in `adopt -o json`.
type adoptionJSON struct {
	Sink      string         `json:"sink"`
	Target    string         `json:"target"`
	Problem   string         `json:"problem"`
	Recorded  *birthJSON     `json:"recorded,omitempty"`
	State     string         `json:"state,omitempty"`
	Store     string         `json:"store,omitempty"`
	Bears     string         `json:"bears,omitempty"`
	Seen      map[string]int `json:"seen,omitempty"` // number of rows or documents by birth
	SeenAll   bool           `json:"seen_all"`
	Accepting string         `json:"accepting,omitempty"`
	Refused   string         `json:"refused,omitempty"`
}

type birthJSON struct {
	Birth string    `json:"birth"`
	Made  time.Time `json:"made"`
	State string    `json:"state,omitempty"`
	Store string    `json:"store,omitempty"`
}

type adoptedJSON struct {
	Accepted bool           `json:"accepted"`
	Sinks    []adoptionJSON `json:"sinks"`
}

func adoptionsJSON(all []sinks.Adoption, accepted bool) adoptedJSON {
	out := adoptedJSON{Accepted: accepted, Sinks: []adoptionJSON{}}
	for _, a := range all {
		adoption := adoptionJSON{
			Sink: a.Sink, Target: a.Target, Problem: a.Problem, State: a.StateIdentity, Store: a.StoreIdentity,
			Bears: a.OutputBirth,
			Seen:  a.Inspection.Seen, SeenAll: a.Inspection.Complete, Accepting: a.Accepting, Refused: a.Refused,
		}
		if a.Known {
			adoption.Recorded = &birthJSON{a.Recorded.ID, a.Recorded.Made, a.Recorded.State, a.Recorded.Store}
		}
		out.Sinks = append(out.Sinks, adoption)
	}
	return out
}

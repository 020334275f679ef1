package sinks

import (
	"context"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// PlanOnly is stores that hold nothing: a pipeline over them explains what it
// would do with a change ([pipeline.Pipeline.Explain]), and a Run over them stops
// at the first write.
func PlanOnly() Stores { return planOnly{} }

type planOnly struct{}

var errPlanOnly = pipeline.Fatal(errs.New("this pipeline was made to plan, not to write"))

// View is a store that writes nothing.
func (planOnly) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return noRows{}, nil
}

// Aggregate is a store that writes nothing.
func (planOnly) Aggregate(context.Context, *config.Config, config.Sink) (view.GroupStore, error) {
	return noGroups{}, nil
}

// Search is a store that writes nothing.
func (planOnly) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return noDocuments{}, nil
}

// Archive is a store that writes nothing.
func (planOnly) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return noObjects{}, nil
}

// Notify is a store that sends nothing.
func (planOnly) Notify(context.Context, *config.Config, config.Sink) (notify.Store, error) {
	return noMessages{}, nil
}

// DeadLetters is none.
func (planOnly) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return noLetters{}, nil
}

// State is none.
func (planOnly) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

type (
	noRows      struct{} // whichever way they are guarded
	noGroups    struct{}
	noDocuments struct{}
	noObjects   struct{}
	noMessages  struct{}
	noLetters   struct{}
)

func (noRows) Apply(context.Context, view.Target, []view.Mutation) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noRows) Guards(context.Context, view.Target, []pipeline.Key) ([]state.Guard, error) {
	return nil, errPlanOnly
}

func (noRows) RowClaims(context.Context, view.Target, []state.Row) ([]view.RowClaims, error) {
	return nil, errPlanOnly
}

func (noRows) Settle(context.Context, view.Target, []state.ItemWrite) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noDocuments) Apply(context.Context, []search.Mutation) ([]search.Result, error) {
	return nil, errPlanOnly
}

func (noObjects) Put(context.Context, archive.Object) error { return errPlanOnly }

func (noObjects) Get(context.Context, string) (io.ReadCloser, error) { return nil, errPlanOnly }

func (noMessages) Publish(context.Context, []notify.Message) error { return errPlanOnly }

func (noLetters) Put(context.Context, []pipeline.DeadLetter) error { return errPlanOnly }

func (noGroups) Contributions(context.Context, view.Target, []pipeline.Key) ([]state.Contribution, error) {
	return nil, errPlanOnly
}

func (noGroups) Contribute(context.Context, view.Target, []state.GroupWrite) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noGroups) MaxActions() int { return 0 }

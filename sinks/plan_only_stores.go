package sinks

import (
	"context"
	"io"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/notify"
	"github.com/tablewake/tablewake/sinks/search"
	"github.com/tablewake/tablewake/sinks/state"
	"github.com/tablewake/tablewake/sinks/view"
)

// PlanOnly returns stores for pipelines that only plan. A pipeline over these stores can explain a change
// ([pipeline.Pipeline.Explain]). Its Run fails at the first write. It has no metrics, because a meter would keep the
// pipeline in memory for ever.
func PlanOnly() Stores { return planOnly{} }

type planOnly struct{}

var errPlanOnly = pipeline.Fatal(errs.New("this pipeline was made to plan, not to write"))

// View returns a store whose writes fail.
func (planOnly) View(context.Context, *config.Config, config.Sink) (view.Store, error) {
	return noRows{}, nil
}

// Aggregate returns a store whose writes fail.
func (planOnly) Aggregate(context.Context, *config.Config, config.Sink) (view.GroupStore, error) {
	return noGroups{}, nil
}

// Search returns a store whose writes fail.
func (planOnly) Search(context.Context, *config.Config, config.Sink) (search.Store, error) {
	return noDocuments{}, nil
}

// Archive returns a store whose writes fail.
func (planOnly) Archive(context.Context, *config.Config, config.Sink) (archive.Store, error) {
	return noObjects{}, nil
}

// Notify returns a store whose writes fail.
func (planOnly) Notify(context.Context, *config.Config, config.Sink) (notify.Store, error) {
	return noMessages{}, nil
}

// DeadLetters returns a store whose writes fail.
func (planOnly) DeadLetters(context.Context, *config.Config) (pipeline.DeadLetters, error) {
	return noLetters{}, nil
}

// State returns no store.
func (planOnly) State(context.Context, *config.Config) (state.Store, error) { return nil, nil }

type (
	noRows      struct{} // for both guard modes
	noGroups    struct{}
	noDocuments struct{}
	noObjects   struct{}
	noMessages  struct{}
	noLetters   struct{}
)

func (noRows) Apply(context.Context, view.Target, []view.Mutation) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noRows) Guards(context.Context, state.Target, []item.Key) ([]state.Guard, error) {
	return nil, errPlanOnly
}

func (noRows) RowClaims(context.Context, view.Target, []state.Row) ([]view.RowClaims, error) {
	return nil, errPlanOnly
}

func (noRows) WriteItems(context.Context, view.Target, []state.ItemWrite) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noDocuments) Apply(context.Context, []search.Mutation) ([]search.Result, error) {
	return nil, errPlanOnly
}

func (noObjects) Put(context.Context, archive.Object) error { return errPlanOnly }

func (noObjects) Get(context.Context, string) (io.ReadCloser, error) { return nil, errPlanOnly }

func (noObjects) Describe(context.Context, string) (archive.Stored, error) {
	return archive.Stored{}, errPlanOnly
}

func (noObjects) Replace(context.Context, archive.Object, archive.Stored) error { return errPlanOnly }

func (noMessages) Publish(context.Context, []notify.Message) error { return errPlanOnly }

func (noLetters) Put(context.Context, []pipeline.DeadLetter) error { return errPlanOnly }

func (noGroups) Contributions(context.Context, state.Target, []item.Key) ([]state.Contribution, error) {
	return nil, errPlanOnly
}

func (noGroups) Contribute(context.Context, view.Target, []state.GroupWrite) ([]view.Result, error) {
	return nil, errPlanOnly
}

func (noGroups) MaxActions() int { return 0 }

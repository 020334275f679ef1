package template

import "path/filepath"

// alarm is an alarm of the template. It fires above a threshold of 0.
type alarm struct {
	ID          string
	Function    string // for a metric of Lambda: the logical id of the function
	Metric      string
	Periods     int  // of five minutes
	Missing     bool // it fires if the metric was below 1, or is missing, for so many days
	Description string
	Told        bool // it reports an event once: the end of the alarm does not mean that the problem is solved
}

// FunctionAlarms returns the alarms on Lambda's own metrics.
func (s sam) FunctionAlarms() []alarm {
	return []alarm{
		{ID: "Errors", Function: "Function", Metric: "Errors", Periods: 3, Description: "Invocations fail as a whole, so that batches come again and again. The log says why; a crash is halved until the record that causes it stands alone."},
		{ID: "Throttles", Function: "Function", Metric: "Throttles", Periods: 3, Description: "The account has no concurrency left for the function, and it falls behind."},
		{ID: "NotKept", Function: "Function", Metric: "DestinationDeliveryFailures", Periods: 1, Told: true, Description: "Lambda gave records up and could not write them into the bucket FailedBatches: they are nowhere else once the stream drops them. Look at the role's rights on the bucket and the key; the function's log names the records that failed."},
		{ID: "RedriveErrors", Function: "Redrive", Metric: "Errors", Periods: 3, Description: "What Lambda gave up, or dead letters, cannot be brought back. The log says why."},
	}
}

// PipelineAlarms returns the alarms on the pipeline's metrics.
func (s sam) PipelineAlarms() []alarm {
	return []alarm{
		{ID: "DeadLetters", Metric: "tablewake.sink.letters", Periods: 1, Told: true, Description: "Changes could not be delivered and lie in dead letters. Look with `tablewake redrive --live --list`, mend the cause, then redrive."},
		{ID: "Returned", Metric: "tablewake.handler.returned", Periods: 6, Description: "For half an hour records have been given back to come again: a sink does not answer, or the function's time is too short. The log names the sink."},
		{ID: "Lost", Metric: "tablewake.handler.lost", Periods: 1, Told: true, Description: "Batches that Lambda gave up, which it does by a limit of yours alone, held records that neither the bucket nor the stream has. `tablewake status --live` lists the gaps; what they changed has to be carried anew."},
	}
}

// ConfigBase returns the name of the configuration in the layer.
func (s sam) ConfigBase() string { return filepath.Base(s.Config.File) }

// ConfigFolder returns the folder that becomes the layer.
func (s sam) ConfigFolder() string { return filepath.ToSlash(filepath.Dir(s.Config.File)) }

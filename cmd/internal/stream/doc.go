// Package stream opens the Streams API and the leases of a configuration.
package stream

// Package compare says how two results differ, as benchstat does: medians with
// their intervals, the difference and its p-value, "~" where the samples do not
// decide. Results of folio and files in the Go benchmark format are the same to
// it: the former are taken as the benchmark results that --bench writes of them.
package compare

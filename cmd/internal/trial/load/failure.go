package load

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

// A FailedKind is requests that failed in one way: how many, and how, in words.
type FailedKind struct {
	Requests int64
	Text     string
}

// Kinds says how requests failed under settings; nil for those leaves their bounds out. first has
// errors of those kinds that have a text.
func (f Failures) Kinds(s *Settings, first []ErrorText) (out []FailedKind) {
	if s == nil {
		s = &Settings{}
	}
	inFlight, within := "as many as allowed", "in time"
	if s.MaxInFlight > 0 {
		inFlight = unit.Number(int64(s.MaxInFlight)) + ", the most allowed,"
	}
	if s.Timeout > 0 {
		within = "within " + unit.SpanSeconds(s.Timeout)
	}
	for _, k := range []struct {
		n          int64
		kind, text string
	}{
		{f.NotSent, kindNotSent, "not sent: " + inFlight + " were in flight"},
		{f.Timeout, kindTimeout, "not answered " + within},
		{f.Connection, kindConnection, "no connection, or a broken one"},
		{f.Status, kindStatus, "answered with a status other than 2xx and 3xx"},
		{f.GRPC, kindGRPC, "answered with a status of gRPC other than OK, or none"},
		{f.Unanswered, kindUnanswered, "in flight, or due, at the interruption"},
	} {
		if k.n == 0 {
			continue
		}
		if i := slices.IndexFunc(first, func(e ErrorText) bool { return e.Kind == k.kind }); i >= 0 {
			k.text += "; first: " + first[i].Text
		}
		out = append(out, FailedKind{k.n, k.text})
	}
	return out
}

// FailedText says how many requests failed, and how, in a line.
func (c *Counts) FailedText(s *Settings, first []ErrorText) string {
	kinds := c.Failures.Kinds(s, first)
	var texts []string
	for _, k := range kinds {
		text := k.Text
		if len(kinds) > 1 {
			text = unit.Number(k.Requests) + " " + text
		}
		texts = append(texts, text)
	}
	return fmt.Sprintf("%s of %s failed: %s", unit.Number(c.Failed), unit.Plural(int(c.Intended), "request"), strings.Join(texts, "; "))
}

// Unusable says why figures of the load are of failures, not of a server that answers; "" where
// at least half of the requests succeeded.
func (r *Result) Unusable() string {
	if r.Intended == 0 || 2*r.Succeeded >= r.Intended {
		return ""
	}
	return r.FailedText(&r.Settings, r.Errors)
}

// Answerless says that most requests failed for what no late start of a request explains: by a
// wrong answer or none, where the generator was late by a small part of the time that an answer had.
func (r *Result) Answerless() bool {
	n := r.Failures.Wrong()
	if p99 := r.Lateness.P99; p99 != nil && *p99 < r.Settings.Timeout/2 {
		n += r.Failures.Timeout
	}
	return 2*n > r.Intended
}

// addFirst adds the first errors of kinds that first has none of.
func addFirst(first []ErrorText, errs ...ErrorText) []ErrorText {
	for _, e := range errs {
		if !slices.ContainsFunc(first, func(f ErrorText) bool { return f.Kind == e.Kind }) {
			first = append(first, e)
		}
	}
	return first
}

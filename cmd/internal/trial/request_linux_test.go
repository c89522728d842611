package trial

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"
)

// Trials of one program with different requests get what each asked for, even if they are
// asked for at the same time, and leave the program as it was made.
func TestRequestsAreApart(t *testing.T) {
	p := &shell("sleep 1000").Program
	before := *p
	before.Command, before.Env = slices.Clone(p.Command), slices.Clone(p.Env)
	var all sync.WaitGroup
	for _, req := range []Request{{Timeout: 50 * time.Millisecond, KeepSeries: true}, {Timeout: 70 * time.Millisecond}} {
		all.Go(func() {
			s, err := p.Run(t.Context(), Setting{}, req)
			if err != nil {
				t.Error(err)
				return
			}
			if want := fmt.Sprint("took longer than ", req.Timeout); s.Failure != want || (s.Series != nil) != req.KeepSeries {
				t.Errorf("%+v: %q, series %v; want %q", req, s.Failure, s.Series, want)
			}
		})
	}
	all.Wait()
	if !reflect.DeepEqual(*p, before) {
		t.Errorf("the program became %+v, from %+v", *p, before)
	}
	checkNoneLeft(t)
}

// Each round of a scheduler has a request of its own, made before its trial and of no other.
func TestSchedulerRequests(t *testing.T) {
	p := &shell("true").Program
	before := *p
	s := NewScheduler(p, 1)
	arm := NewArm(Setting{})
	all := Request{Profile: testRate, KeepSeries: true, Delays: true, Timeout: time.Minute}
	var asked []Request
	s.Request = func(a *Arm, round int) Request {
		asked = append(asked, all.Of(a, round, round == 2))
		return asked[len(asked)-1]
	}
	if _, err := s.Warmup(t.Context(), []*Arm{arm}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Round(t.Context(), []*Arm{arm}); err != nil {
			t.Fatal(err)
		}
	}
	want := []Request{{Timeout: time.Minute}, {Timeout: time.Minute, KeepSeries: true, Delays: true}, {Timeout: time.Minute, Profile: testRate, Delays: true}}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked for %+v, want %+v", asked, want)
	}
	if got := []bool{arm.Samples[0].Series != nil, arm.Samples[1].Series != nil}; !got[0] || got[1] {
		t.Errorf("series in rounds 1 and 2: %v", got)
	}
	if !reflect.DeepEqual(*p, before) {
		t.Errorf("the program became %+v, from %+v", *p, before)
	}
}

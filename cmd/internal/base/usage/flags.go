package usage

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/spelling"
)

// strict makes the flags of a command, and of its commands, refuse what would be lost
// or misread: an empty value, the next flag for one, and a second one that is not the
// first. Help lists them in the order in which they were added.
func strict(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	addHelpAll(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.(type) {
		case pflag.SliceValue, allHelp:
			return
		}
		_, above := f.Annotations[positive]
		f.Value = &onceValue{Value: f.Value, positive: above}
		switch {
		case f.DefValue == "0s":
			f.DefValue = "" // what is zero is not shown; durations were known by their type
		case f.DefValue != "" && f.Value.Type() == "string": // which pflag shows in quotes
			f.Usage += " (default " + f.DefValue + ")"
			f.DefValue = ""
		}
	})
	for _, c := range cmd.Commands() {
		strict(c)
	}
}

// positive is the annotation of flags whose 0 stands for not given: 0 is no value of them.
const positive = "positive"

// Positive has flags of numbers and durations refuse 0, and what is less.
func Positive(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, positive, []string{}); err != nil {
			panic(err) // no such flag
		}
	}
}

// A onceValue is the value of a flag that is given once.
type onceValue struct {
	pflag.Value
	given    *string
	positive bool
}

func (v *onceValue) Set(s string) error {
	switch {
	case strings.TrimSpace(s) == "" && v.Type() == "string":
		return errEmpty
	case strings.HasPrefix(s, "--") && v.Type() == "string":
		return errFlag
	case v.given != nil && *v.given != s:
		return &twiceError{*v.given, s}
	}
	if err := v.Value.Set(s); err != nil {
		return err
	}
	if now := v.String(); v.positive && (now == "0" || now == "0s" || strings.HasPrefix(now, "-")) {
		return errNotPositive
	}
	v.given = &s
	return nil
}

var (
	errEmpty = errors.New("the value is empty")
	errFlag  = errors.New("the value is a flag") // its own was forgotten

	errNotPositive = errors.New("must be more than 0")
)

// A twiceError says that a flag has two values.
type twiceError struct{ first, second string }

func (e *twiceError) Error() string {
	return fmt.Sprintf("given twice, as %q and %q", e.first, e.second)
}

// wants says what the values of a type of flag look like.
var wants = map[string]string{
	"int": "want a whole number", "uint64": "want a whole number, 0 or more", "float64": "want a number, such as 0.9",
	"duration": "want a duration, such as 30s or 5m", "bool": "want true or false",
	"intSlice": "want whole numbers with commas, such as 1,2,4", "stringSlice": "want names with commas, such as a,b",
}

// flagError says in plain words what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	see := fmt.Sprintf(": see '%s --help'", cmd.CommandPath())
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return pflag.ErrHelp
	case errors.As(err, &unknown):
		if args := cmd.Flags().Args(); !cmd.HasParent() && len(args) > 0 && cmd.Args != nil {
			return cmd.Args(cmd, args) // the flags are of a program, which no command was given for
		}
		name := "--" + unknown.GetSpecifiedName()
		if s := unknown.GetSpecifiedShortnames(); s != "" {
			if word, _, _ := strings.Cut(s, "="); len(word) > 1 && cmd.Flags().Lookup(word) != nil {
				return Errorf("unknown flag -%s: did you mean --%s?", s, s)
			}
			return Errorf("unknown flag -%s%s", s, see)
		}
		if instead := cmd.Annotations[name]; instead != "" {
			return Errorf("unknown flag %s: %s", name, instead)
		}
		if near := nearest(cmd.Flags(), unknown.GetSpecifiedName()); near != "" {
			return Errorf("unknown flag %s: did you mean --%s?", name, near)
		}
		return Errorf("unknown flag %s%s", name, see)
	case errors.As(err, &missing):
		return Errorf("--%s: no value given%s", missing.GetFlag().Name, see)
	case errors.As(err, &invalid):
		return invalidValue(invalid)
	}
	return Errorf("%w%s", err, see)
}

func invalidValue(e *pflag.InvalidValueError) error {
	name, value := e.GetFlag().Name, e.GetValue()
	var twice *twiceError
	switch want, number := wants[e.GetFlag().Value.Type()]; {
	case errors.Is(e, errEmpty):
		return Errorf("--%s: the value is empty", name)
	case errors.Is(e, errFlag):
		return Errorf("--%s: no value given before %s", name, value)
	case errors.As(e, &twice):
		return Errorf("--%s %s and --%s %s: give one", name, twice.first, name, twice.second)
	case errors.Is(e, errNotPositive):
		between := " "
		if e.GetFlag().NoOptDefVal != "" {
			between = "="
		}
		return Errorf("--%s%s%s: %w", name, between, value, errNotPositive)
	case errors.Is(e, strconv.ErrRange):
		return Errorf("--%s %s: the number is too large", name, value)
	case number:
		return Errorf("--%s %q: %s", name, value, want)
	}
	return Errorf("--%s %q: %w", name, value, errors.Unwrap(e))
}

// nearest returns the flag whose name is most like another one, "" if none is.
func nearest(fs *pflag.FlagSet, name string) string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return spelling.Nearest(name, names)
}

package html

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/view/document"
)

var (
	//go:embed lib/d3.min.js
	d3 string
	//go:embed highlight.js
	highlightScript string
	//go:embed chart.js
	chartScript string
	//go:embed state.js
	stateScript string
	//go:embed timeline.js
	timelineScript string
	//go:embed calls.js
	callsScript string
	//go:embed samples.js
	samplesScript string
	//go:embed tables.js
	tablesScript string
	//go:embed fold.js
	foldScript string
	//go:embed app.js
	appScript string
	//go:embed style.css
	pageStyle string
	//go:embed explore.css
	exploreStyle string
	//go:embed fold.css
	foldStyle string
	//go:embed page.tmpl
	pageText string
)

// app is the page's own script, style its style.
var (
	app   = stateScript + highlightScript + chartScript + timelineScript + callsScript + samplesScript + tablesScript + foldScript + appScript
	style = pageStyle + exploreStyle + foldStyle
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"json": func(v any) (template.JS, error) {
		data, err := json.Marshal(v) // with <, > and & escaped
		return template.JS(data), err
	},
	"detail": document.IsDetail,
	"long":   long,
	"prose":  prose,
	"raw": func(r *document.Raw) (template.HTML, error) {
		text, err := pack(r.JSON)
		return template.HTML(text), err // base64, in an element without markup
	},
}).Parse(pageText))

// address is one that a text names.
var address = regexp.MustCompile(`\bhttps://[^\s<>"'` + "`" + `]*[^\s<>"'` + "`" + `.,;:)]`)

// prose is a text in which addresses are links.
func prose(text string) any {
	found := address.FindAllStringIndex(text, -1)
	if found == nil {
		return text // which the template escapes
	}
	var b strings.Builder
	end := 0
	for _, at := range found {
		url := template.HTMLEscapeString(text[at[0]:at[1]])
		b.WriteString(template.HTMLEscapeString(text[end:at[0]]) + `<a href="` + url + `" rel="noreferrer">` + url + `</a>`)
		end = at[1]
	}
	return template.HTML(b.String() + template.HTMLEscapeString(text[end:]))
}

// longWord is the length from which a word of a table may be broken anywhere: GOMEMLIMIT=14384MiB
// may not.
const longWord = 28

// long says that a text has a word that is too long for a column.
func long(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), func(w string) bool { return utf8.RuneCountInString(w) >= longWord })
}

// hash returns the source expression of a Content-Security-Policy that allows
// exactly this script or style.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// policy is the page's Content-Security-Policy.
var policy = sync.OnceValue(func() string {
	return strings.Join([]string{
		"default-src 'none'",
		"script-src " + hash(d3) + " " + hash(app),
		"style-src " + hash(style),
		"img-src data:",
		"base-uri 'none'",
		"form-action 'none'",
	}, "; ")
})

// Render returns the file of a document.
func Render(d *document.Document) ([]byte, error) {
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, struct {
		*document.Document
		Policy string
		D3     template.JS
		App    template.JS
		Style  template.CSS
	}{d, policy(), template.JS(d3), template.JS(app), template.CSS(style)})
	if err != nil {
		return nil, fmt.Errorf("render the page: %w", err)
	}
	return b.Bytes(), nil
}

// pack returns a result file as a page holds it: without the spaces between
// values, gzip, base64. A tune's samples are a tenth of their size so.
func pack(text []byte) (string, error) {
	var small, zipped bytes.Buffer
	if err := json.Compact(&small, text); err != nil {
		return "", fmt.Errorf("the result is not JSON: %w", err)
	}
	z, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(small.Bytes())
	}
	if err == nil {
		err = z.Close()
	}
	return base64.StdEncoding.EncodeToString(zipped.Bytes()), err
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A loader puts a load on a program: data at first, and then the same work as often as it is
// asked for. It is for one goroutine.
type loader struct {
	addr, dir string
	turn      int // of the work: 0 for the data
	conn      net.Conn
	r         *bufio.Reader
}

// prepare writes what a program needs before it is started.
func prepare(dir string) error {
	var js bytes.Buffer
	for i := range 30_000 {
		fmt.Fprintf(&js, "export function f%d(a, b) { return [a, b, %d].map(x => ({ value: x, name: 'f%d' })); }\nconsole.log(f%d(1, 2));\n", i, i, i, i)
	}
	return os.WriteFile(filepath.Join(dir, "app.js"), js.Bytes(), 0o644)
}

func request(ctx context.Context, method, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %.200s", url, resp.Status, text)
	}
	return err
}

func esbuild(ctx context.Context, l *loader) error {
	return request(ctx, "GET", "http://"+l.addr+"/app.js", nil)
}

func caddy(ctx context.Context, l *loader) error {
	for range 50 {
		if err := request(ctx, "GET", "http://"+l.addr+"/app.js", nil); err != nil {
			return err
		}
	}
	return nil
}

func etcd(ctx context.Context, l *loader) error {
	value := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 50<<10))
	for i := range 200 {
		key := base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(1000*l.turn + i)))
		if err := request(ctx, "POST", "http://"+l.addr+"/v3/kv/put", []byte(`{"key":"`+key+`","value":"`+value+`"}`)); err != nil {
			return err
		}
	}
	return nil
}

func victoria(ctx context.Context, l *loader) error {
	var b bytes.Buffer
	for i := range 50_000 {
		fmt.Fprintf(&b, "bench{turn=\"%d\",i=\"%d\"} %d\n", l.turn%10, i, i)
	}
	return request(ctx, "POST", "http://"+l.addr+"/api/v1/import/prometheus", b.Bytes())
}

// dial connects once.
func (l *loader) dial(ctx context.Context) (err error) {
	if l.conn == nil {
		if l.conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", l.addr); err == nil {
			l.r = bufio.NewReader(l.conn)
		}
	}
	if err == nil {
		err = l.conn.SetDeadline(time.Now().Add(2 * time.Minute))
	}
	return err
}

// nats publishes messages into a stream in memory.
func nats(ctx context.Context, l *loader) error {
	first := l.conn == nil
	if err := l.dial(ctx); err != nil {
		return err
	}
	var b bytes.Buffer
	if first {
		b.WriteString("CONNECT {\"verbose\":false}\r\nSUB _R 1\r\n")
		config := `{"name":"S","subjects":["s.>"],"storage":"memory","max_msgs":60000,"discard":"old","retention":"limits","num_replicas":1}`
		fmt.Fprintf(&b, "PUB $JS.API.STREAM.CREATE.S _R %d\r\n%s\r\n", len(config), config)
	}
	text := strings.Repeat("x", 1000)
	for i := range 20_000 {
		fmt.Fprintf(&b, "PUB s.%d %d\r\n%s\r\n", i%100, len(text), text)
	}
	b.WriteString("PING\r\n")
	if _, err := l.conn.Write(b.Bytes()); err != nil {
		return err
	}
	for {
		line, err := l.r.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(line, "-ERR"), strings.Contains(line, `"error"`):
			return fmt.Errorf("nats-server: %s", line)
		case strings.HasPrefix(line, "PONG"):
			return nil
		}
	}
}

// gopls loads the module that this command is of, and then looks for symbols.
func gopls(ctx context.Context, l *loader) error {
	first := l.conn == nil
	if err := l.dial(ctx); err != nil {
		return err
	}
	if !first {
		return l.call(l.turn, "workspace/symbol", map[string]any{"query": "Waterfall" + strconv.Itoa(l.turn%7)})
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	root := "file://" + wd
	if err := l.call(-1, "initialize", map[string]any{"processId": nil, "rootUri": root, "capabilities": map[string]any{},
		"workspaceFolders": []any{map[string]any{"uri": root, "name": "folio"}}}); err != nil {
		return err
	}
	if err := l.send(map[string]any{"jsonrpc": "2.0", "method": "initialized", "params": map[string]any{}}); err != nil {
		return err
	}
	return l.call(-2, "workspace/symbol", map[string]any{"query": "main"})
}

func (l *loader) send(message any) error {
	data, err := json.Marshal(message)
	if err == nil {
		_, err = fmt.Fprintf(l.conn, "Content-Length: %d\r\n\r\n%s", len(data), data)
	}
	return err
}

// call calls a method of a language server, and answers what it asks meanwhile.
func (l *loader) call(id int, method string, params any) error {
	if err := l.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		head, err := textproto.NewReader(l.r).ReadMIMEHeader()
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(head.Get("Content-Length"))
		if err != nil || n < 0 || n > 1<<30 {
			return fmt.Errorf("a message of %q bytes", head.Get("Content-Length"))
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(l.r, data); err != nil {
			return err
		}
		var m struct {
			ID     any
			Method string
			Error  *struct{ Message string }
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return err
		}
		switch {
		case m.Method != "" && m.ID != nil:
			if err := l.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": nil}); err != nil {
				return err
			}
		case m.Method == "" && fmt.Sprint(m.ID) == strconv.Itoa(id):
			if m.Error != nil {
				return fmt.Errorf("%s: %s", method, m.Error.Message)
			}
			return nil
		}
	}
}

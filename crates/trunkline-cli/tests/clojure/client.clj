;; A client in plain Clojure: posts EDN to a server of the Chinook sample, and reads EDN back.
;;
;; clojure client.clj URL

(ns client
  (:require [clojure.edn :as edn]
            [clojure.string :as string]
            [clojure.test :refer [deftest is run-tests testing]])
  (:import (java.net URI)
           (java.net.http HttpClient HttpRequest HttpRequest$BodyPublishers
                          HttpResponse HttpResponse$BodyHandlers)
           (java.time Duration)))

(def url (URI/create (first *command-line-args*)))
(def edn-type "application/edn")
(def json-type "application/json")

;; How it talks

(def patience (Duration/ofSeconds 20))
(def http (-> (HttpClient/newBuilder) (.connectTimeout patience) (.build)))

(defn post
  "Status, media type and text of the reply to a text."
  [text content-type accept]
  (let [request (-> (HttpRequest/newBuilder url)
                    (.timeout patience)
                    (.header "Content-Type" content-type)
                    (cond-> accept (.header "Accept" accept))
                    (.POST (HttpRequest$BodyPublishers/ofString text))
                    (.build))
        ^HttpResponse response (.send http request (HttpResponse$BodyHandlers/ofString))
        media-type (-> response .headers (.firstValue "content-type") (.orElse ""))]
    {:status (.statusCode response)
     :type (first (string/split media-type #";"))
     :text (.body response)}))

(defn post-edn
  "The reply to a text of EDN, which has to be EDN."
  [text]
  (let [{:keys [status type text] :as reply} (post text edn-type nil)]
    (is (= [200 edn-type] [status type]) reply)
    (edn/read-string text)))

(defn send-message [message] (post-edn (pr-str message)))

(defn request [id method params] {:jsonrpc "2.0" :id id :method method :params params})

(defn call [method params]
  (let [{:keys [jsonrpc id result] :as response} (send-message (request 7 method params))]
    (is (= ["2.0" 7] [jsonrpc id]) response)
    (is (contains? response :result) response)
    result))

;; What it says

(deftest calls
  (testing "without params"
    (let [{:keys [id result]} (send-message {:jsonrpc "2.0" :method "rpc.discover" :id 1})]
      (is (= 1 id))
      (is (string/starts-with? (:openrpc result) "1."))
      (is (contains? (set (map :name (:methods result))) "db.query_records"))))
  (testing "by name"
    (let [params {:table_name "Artist" :columns ["ArtistId" "Name"] :order_by "ArtistId" :limit 2}]
      (is (= [[1 "AC/DC"] [2 "Accept"]] (:rows (call "db.query_records" params))))))
  (testing "by position, in a list"
    (let [{:keys [name columns]} (call "db.describe_table" '("Genre"))]
      (is (= "Genre" name))
      (is (= ["GenreId" "Name"] (map :name columns)))))
  (testing "with keywords, symbols and sets for strings and arrays"
    (let [params '{"table_name" Genre :columns #{Name} :filters {:GenreId 1N} :limit 1}]
      (is (= [["Rock"]] (:rows (call :db.query_records params))))))
  (testing "with text of all scripts, and every number as it was"
    (let [sql "SELECT ?1, ?2, ?3, ?4"
          values ["é猫😀\n\"\\" -9007199254740991 0.1 nil]]
      (is (= [values] (:rows (call "db.execute_raw_query" {:query sql :params values})))))))

(deftest ids
  (doseq [id [:first :my.app/first 'first "first" 0 -1 9007199254740993 12345678901234567890N
              #uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"]]
    (is (= id (:id (send-message (request id "db.list_tables" {})))))))

(deftest batches
  (let [call #(request %1 "db.query_records" {:table_name %2 :columns ["Name"] :limit 1})
        notification (dissoc (call 0 "Genre") :id)
        replies (send-message [(call :a "Genre")
                               notification
                               (request :b "no.such.method" [])
                               {:method 1}
                               (request :c "db.query_records" {:table_name ##Inf})
                               (call "d" "MediaType")])
        by-id (group-by :id replies)
        only #(first (by-id %))]
    (is (vector? replies))
    (is (= 5 (count replies)))
    (is (= [["Rock"]] (get-in (only :a) [:result :rows])))
    (is (= -32601 (get-in (only :b) [:error :code])))
    (is (= -32600 (get-in (only nil) [:error :code])))
    (is (= -32603 (get-in (only :c) [:error :code])))
    (is (= 1 (count (get-in (only "d") [:result :rows]))))
    (testing "of notifications only, or one alone, have no reply"
      (doseq [silent [[notification notification] notification]]
        (is (= [204 ""] ((juxt :status :text) (post (pr-str silent) edn-type nil))))))
    (testing "that are empty are no requests"
      (is (= -32600 (get-in (send-message []) [:error :code]))))))

(deftest what-does-not-read
  (doseq [text ["{:jsonrpc \"2.0\""
                "{:jsonrpc \"2.0\" :method \"db.list_tables\" :id 1}}"
                "{:jsonrpc \"2.0\" :method \"db.list_tables\" :id 1 :params {:at #inst \"2024-13\"}}"
                "{:jsonrpc \"2.0\" :method \"db.list_tables\" :id 1 :id 2}"
                "{:jsonrpc \"2.0\" :method \"db.list_tables\" :id 1 :params [1/0]}"
                "[#uuid \"1\"]"
                "{\"jsonrpc\": \"2.0\", \"method\": \"db.list_tables\", \"id\": 1}"
                ""]]
    (let [{:keys [id error] :as response} (post-edn text)]
      (is (= -32700 (:code error)) [text response])
      (is (contains? response :id))
      (is (nil? id) [text response])
      (is (string? (get-in error [:data :reason])) [text response]))))

(deftest what-has-no-json
  (doseq [[params path] [["{:limit ##Inf}" "/params/limit"]
                         ["[##NaN]" "/params/0"]
                         ["{:a [#my/tag 1]}" "/params/a/0"]
                         ["{nil 1}" nil]
                         ["{:a 1 \"a\" 2}" nil]
                         ["{[1] 2}" nil]]]
    (let [text (str "{:jsonrpc \"2.0\" :id :here :method \"db.list_tables\" :params " params "}")
          {:keys [id error]} (post-edn text)]
      (is (= [:here -32603 "JSON conversion error"] [id (:code error) (:message error)]) text)
      (is (string? (get-in error [:data :reason])) text)
      (if path
        (is (= path (get-in error [:data :path])) text)
        (is (string/starts-with? (get-in error [:data :path]) "/params") text)))))

(deftest formats
  (let [edn-text (pr-str (request "a" "db.list_tables" {}))
        json-text "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"db.list_tables\"}"
        check (fn [text content-type accept expected]
                (let [{:keys [status type text]} (post text content-type accept)]
                  (is (= [200 expected] [status type]) [content-type accept])
                  text))]
    (testing "EDN for JSON"
      (let [{:keys [id result]} (edn/read-string (check json-text json-type edn-type edn-type))]
        (is (= "a" id))
        (is (contains? (set (map :name (:tables result))) "Artist"))))
    (testing "JSON for EDN"
      (is (string/starts-with? (check edn-text edn-type json-type json-type) "{\"jsonrpc\":\"2.0\",")))
    (testing "by weight"
      (check edn-text edn-type "application/json;q=0.5, application/edn" edn-type)
      (check edn-text edn-type "application/edn;q=0.1, application/json" json-type)
      (check edn-text edn-type "*/*" edn-type)
      (check json-text json-type "*/*" json-type)
      (check json-text json-type nil json-type))))

(let [{:keys [fail error]} (run-tests 'client)]
  (shutdown-agents)
  (System/exit (if (= [0 0] [fail error]) 0 1)))

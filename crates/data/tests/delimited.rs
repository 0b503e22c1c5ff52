//! Delimited text with a schema: columns, quotes, kinds of features, side tables, and what can be wrong.
#![expect(clippy::unwrap_used, reason = "tests stop on errors")]

mod support;

use std::path::Path;

use gearshift_data::hash::{EMPTY_KEY, key_of};
use gearshift_data::options::OnBadLine;
use gearshift_data::{DataError, check, open};
use gearshift_types::{Key, Pooling};
use support::{Read, options, read};

/// A job over sales.csv and the side table shops.csv.
const JOB: &str = r#"
kind = "delimited"
train = ["sales.csv"]
[delimited]
delimiter = ","
header = true
label = { column = "stars", at_least = 3.5 }
join = [{ name = "shops", file = "shops.csv", delimiter = ";", header = true, key = "shop", on = "shop" }]
feature = [
    { name = "item", column = "item" },
    { name = "shop", column = "shop", table = "place" },
    { name = "price", column = "price", kind = "numeric" },
    { name = "size", column = "size", kind = "numeric", transform = "raw" },
    { name = "price_bucket", column = "price", kind = "numeric", transform = "bucket" },
    { name = "tags", column = "tags", kind = "multi", separator = "|", max_values = 3, pooling = "mean" },
    { name = "second_tag", column = "tags", separator = "|", nth = 1 },
    { name = "word", column = "item", pattern = "^[a-z]+" },
    { name = "hour", column = "when", kind = "hour" },
    { name = "day", column = "when", kind = "weekday" },
    { name = "city", column = "shops.city", table = "place" },
    { name = "rooms", column = "shops.rooms", kind = "numeric", transform = "raw" },
    { name = "goods", column = "shops.goods", kind = "multi", separator = "/" },
]
"#;

const SALES_CSV: &str = "item,shop,price,size,tags,when,stars\n\
    \"lamp, red\",s1,10,1.5,a||b|c|d,1362062307,4\n\
    \"say \"\"hi\"\"\",s2,,-2,,,3.5\n\
    42,none,2,0,x,-1,3.4\n";
const SHOPS_CSV: &str = "shop;city;rooms;goods\ns1;\"Ulm; old\";3;x/y\ns2;s1;;z\n";

fn run(job: &str, sales: &str, shops: &str) -> Result<Read, DataError> {
    let folder = folder(sales, shops);
    read(&options(job), folder.path(), 0)
}

fn folder(sales: &str, shops: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("sales.csv"), sales).unwrap();
    std::fs::write(folder.path().join("shops.csv"), shops).unwrap();
    folder
}

fn keys(values: &[&str]) -> Vec<Key> {
    values.iter().map(|value| key_of(value.as_bytes())).collect()
}

#[test]
fn every_kind_of_feature() {
    let folder = folder(SALES_CSV, SHOPS_CSV);
    let set = open(&options(JOB), folder.path(), 1).unwrap();
    let schema = set.schema();
    assert_eq!(schema.dense, ["price", "size", "rooms"]);
    assert_eq!(
        schema.tables,
        ["item", "place", "price_bucket", "tags", "second_tag", "word", "hour", "day", "goods"]
    );
    let tables: Vec<u16> = schema.features.iter().map(|feature| feature.table.0).collect();
    assert_eq!(tables, [0, 1, 2, 3, 4, 5, 6, 7, 1, 8]);
    assert_eq!(schema.features[3].pooling, Pooling::Mean);

    let all = read(&options(JOB), folder.path(), 0).unwrap();
    assert_eq!((all.bad_lines, all.rows.dense_width), (0, 3));
    assert_eq!(all.rows.labels, [1.0, 1.0, 0.0]);
    let log = |x: f64| x.ln_1p() as f32;
    assert_eq!(all.rows.dense, [log(10.0), 1.5, 3.0, 0.0, -2.0, 0.0, log(2.0), 0.0, 0.0]);
    let feature = |at: usize| &all.rows.features[at];
    assert_eq!(feature(0).values, keys(&["lamp, red", "say \"hi\"", "42"]));
    assert_eq!(feature(1).values, keys(&["s1", "s2", "none"]));
    assert_eq!(feature(2).values, keys(&["b5", "", "2"]));
    assert_eq!(feature(3).values, keys(&["a", "b", "c", "x"]));
    assert_eq!(feature(3).offsets, Some(vec![0, 3, 3, 4]));
    assert_eq!(feature(4).values, keys(&["", "", ""]));
    assert_eq!(feature(5).values, keys(&["lamp", "say", ""]));
    assert_eq!(feature(6).values, keys(&["14", "", "23"]));
    assert_eq!(feature(7).values, keys(&["3", "", "2"]));
    assert_eq!(feature(8).values, keys(&["Ulm; old", "s1", ""]));
    assert_eq!(feature(9).values, keys(&["x", "y", "z"]));
    assert_eq!(feature(9).offsets, Some(vec![0, 2, 3, 3]));
    // "s1" is a shop in one feature and a city in another, one row of the shared table.
    assert_eq!(feature(1).values[0], feature(8).values[1]);
    assert_eq!(key_of(b""), EMPTY_KEY);
}

#[test]
fn bad_lines_leave_no_trace_in_the_columns() {
    let lines = [
        ("lamp,s1,10,1,a|b,7,4,9", "expected 7 columns (item, shop, price, size, tags, when, stars), got 8"),
        (
            "lamp,s1,ten,1,a|b,7,4",
            "expected a number or nothing in column price (feature price), got \"ten\"",
        ),
        (
            "lamp,s1,1,1,a|b,noon,4",
            "expected a timestamp in seconds (UTC) or nothing in column when (feature hour)",
        ),
        ("lamp,s1,1,1,a|b,7,", "expected a number in the label column stars, got \"\""),
        ("\"lamp,s1,1,1,a|b,7,4", "line breaks inside quotes are not supported"),
        ("\"lamp\"x,s1,1,1,a|b,7,4", "after the closing quote"),
        ("lamp,s1,1,1e99,a|b,7,4", "column size (feature size), got \"1e99\""),
    ];
    let mut sales = SALES_CSV.to_owned();
    for (line, _) in lines {
        sales += &format!("{line}\n");
    }
    sales += &SALES_CSV[SALES_CSV.find('\n').unwrap() + 1..];
    let good = run(JOB, SALES_CSV, SHOPS_CSV).unwrap();
    let got = run(JOB, &sales, SHOPS_CSV).unwrap();
    let twice = gearshift_data::gather(&[(&good.rows, 0..3), (&good.rows, 0..3)]);
    assert_eq!((got.bad_lines, &got.rows), (7, &twice));
    for (at, (bad, (_, reason))) in got.first_bad.iter().zip(lines).enumerate() {
        assert_eq!(bad.line, 5 + at as u64);
        assert!(bad.reason.contains(reason), "{} should say {reason}", bad.reason);
    }
    let mut stop = options(JOB);
    stop.on_bad_line = OnBadLine::Stop;
    let folder = folder(&sales, SHOPS_CSV);
    let error = read(&stop, folder.path(), 0).unwrap_err().to_string();
    assert!(error.contains("sales.csv:5: expected 7 columns"), "{error}");
}

#[test]
fn text_that_is_not_utf8_is_bad_only_where_a_pattern_needs_text() {
    let folder = folder("", "");
    std::fs::write(folder.path().join("sales.csv"), b"1,\xFF\n0,ab\n").unwrap();
    let mut job = options(
        "kind = \"delimited\"\ntrain = [\"sales.csv\"]\n[delimited]\ndelimiter = \",\"\ncolumns = [\"y\", \"x\"]\n\
         label = { column = \"y\" }\nfeature = [{ name = \"x\", column = \"x\" }]",
    );
    let got = read(&job, folder.path(), 0).unwrap();
    assert_eq!(got.rows.features[0].values, [key_of(b"\xFF"), key_of(b"ab")]);
    job.delimited.as_mut().unwrap().features[0].pattern = Some("a(b)".to_owned());
    let got = read(&job, folder.path(), 0).unwrap();
    assert_eq!((got.bad_lines, got.rows.features[0].values.as_slice()), (1, keys(&["b"]).as_slice()));
    assert!(got.first_bad[0].reason.contains("expected UTF-8 text"), "{}", got.first_bad[0].reason);
}

#[test]
fn labels_without_a_threshold_are_0_or_1() {
    let job = "kind = \"delimited\"\ntrain = [\"sales.csv\"]\n[delimited]\ncolumns = [\"y\", \"x\"]\n\
        label = { column = \"y\" }\nfeature = [{ name = \"x\", column = \"x\" }]";
    let got = run(job, "0\ta\n1\tb\n1.0\tc\n2\td\n", "").unwrap();
    assert_eq!(got.rows.labels, [0.0, 1.0, 1.0]);
    assert!(got.first_bad[0].reason.contains("expected 0 or 1 (set label.at_least"), "{:?}", got.first_bad);
}

#[test]
fn side_tables_are_read_strictly() {
    let twice = run(JOB, SALES_CSV, &format!("{SHOPS_CSV}s1;Bonn;1;x\n")).unwrap_err().to_string();
    assert!(twice.contains("shops.csv:4: the key \"s1\" occurs twice"), "{twice}");
    let short = run(JOB, SALES_CSV, &format!("{SHOPS_CSV}s3;Bonn\n")).unwrap_err().to_string();
    assert!(short.contains("shops.csv:4: expected 4 columns (shop, city, rooms, goods), got 2"), "{short}");
    let number = run(JOB, SALES_CSV, &SHOPS_CSV.replace(";3;", ";three;")).unwrap_err().to_string();
    assert!(number.contains("shops.csv:2: expected a number or nothing in column shops.rooms"), "{number}");
}

#[test]
fn headers_must_agree() {
    let folder = folder(SALES_CSV, SHOPS_CSV);
    std::fs::write(folder.path().join("more.csv"), SALES_CSV.replace("item,shop", "shop,item")).unwrap();
    let job = options(&JOB.replace("[\"sales.csv\"]", "[\"sales.csv\", \"more.csv\"]"));
    let set = open(&job, folder.path(), 1).unwrap();
    let error = set.open(gearshift_types::PartId(1)).err().unwrap().to_string();
    assert!(error.contains("more.csv: its first line should be the header \"item,shop"), "{error}");

    let job = JOB.replace("header = true\nlabel", "header = true\ncolumns = [\"a\"]\nlabel");
    let error = run(&job, SALES_CSV, SHOPS_CSV).unwrap_err().to_string();
    assert!(error.contains("its header names the columns item, shop, price"), "{error}");
    let error = run(JOB, &SALES_CSV.replace("price,size", "price,price"), SHOPS_CSV).unwrap_err().to_string();
    assert!(error.contains("names the column price twice"), "{error}");
    let error = run(JOB, "", SHOPS_CSV).unwrap_err().to_string();
    assert!(error.contains("expected a header"), "{error}");
}

#[test]
fn all_that_is_wrong_with_the_schema_is_listed() {
    let job = r#"
kind = "delimited"
train = ["sales.csv"]
[delimited]
delimiter = ","
header = true
label = { column = "clicked" }
join = [{ name = "shops", file = "shops.csv", delimiter = ";", header = true, key = "nr", on = "store" }]
feature = [
    { name = "a", column = "colour" },
    { name = "a", column = "item" },
    { name = "b", column = "towns.city" },
    { name = "c", column = "shops.country" },
    { name = "d", column = "item", pattern = "(" },
    { name = "e", column = "tags", kind = "multi" },
    { name = "f", column = "tags", separator = "|" },
    { name = "g", column = "price", kind = "numeric", table = "t", nth = 1 },
    { name = "h", column = "item", max_values = 0, transform = "bucket", pooling = "mean" },
]
"#;
    let folder = folder(SALES_CSV, SHOPS_CSV);
    let found = check(&options(job), folder.path());
    for part in [
        "label.column = \"clicked\" is not a column; the columns are: item, shop",
        "join shops: key = \"nr\" is not a column; the columns are: shop, city",
        "join shops: on = \"store\"",
        "feature a: column = \"colour\"",
        "two features are named a",
        "there is no [[data.delimited.join]] named towns; the joins are: shops",
        "feature c: column = \"country\" is not a column; the columns are: shop, city",
        "feature d: pattern is not a regular expression",
        "feature e: separator is missing",
        "feature f: separator needs kind",
        "feature g: a dense number has no table",
        "feature g: nth needs kind",
        "feature g: separator is missing",
        "feature h: max_values needs",
        "feature h: max_values = 0",
        "feature h: transform needs",
        "feature h: pooling needs",
    ] {
        assert!(found.iter().any(|problem| problem.contains(part)), "{part}: {found:#?}");
    }
    assert_eq!(found.len(), 17, "{found:#?}");
    let error = open(&options(job), folder.path(), 1).err().unwrap().to_string();
    assert_eq!(error, found[0]);

    let job = "kind = \"delimited\"\ntrain = [\"sales.csv\"]\n[delimited]\ndelimiter = \"\"\n\
        label = { column = \"y\" }\nfeature = []";
    let found = check(&options(job), folder.path());
    assert!(found.iter().any(|problem| problem.contains("delimiter = \"\"")), "{found:#?}");
    assert!(found.iter().any(|problem| problem.contains("columns is missing")), "{found:#?}");
    let job = options("kind = \"delimited\"\ntrain = [\"sales.csv\"]");
    assert!(check(&job, folder.path())[0].contains("needs [data.delimited]"));
    assert!(check(&job, Path::new("/nowhere")).iter().any(|problem| problem.contains("no such file")));
}

#[test]
fn a_schema_reads_criteo_files_like_the_criteo_reader() {
    let folder = folder("", "");
    std::fs::write(folder.path().join("day.tsv"), support::criteo_lines(500)).unwrap();
    let names: Vec<String> =
        (1..=13).map(|at| format!("I{at}")).chain((1..=26).map(|at| format!("C{at}"))).collect();
    let mut job =
        "kind = \"delimited\"\ntrain = [\"day.tsv\"]\n[delimited]\nlabel = { column = \"label\" }\n"
            .to_owned();
    job += &format!("columns = {:?}\n", [&["label".to_owned()], names.as_slice()].concat());
    for name in &names {
        let kind = if name.starts_with('I') { "numeric" } else { "categorical" };
        job += &format!("[[delimited.feature]]\nname = \"{name}\"\ncolumn = \"{name}\"\nkind = \"{kind}\"\n");
    }
    let criteo = options("kind = \"criteo\"\ntrain = [\"day.tsv\"]");
    let schema = |options| open(options, folder.path(), 7).unwrap().schema().clone();
    assert_eq!(schema(&options(&job)), schema(&criteo));
    assert!(read(&options(&job), folder.path(), 0).unwrap() == read(&criteo, folder.path(), 0).unwrap());
}
